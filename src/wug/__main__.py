"""`python -m wug`: the command line."""

from wug.cli.main import main

if __name__ == "__main__":
    main()
