"""`python -m wug`: the command line."""

from wug.cli.main import program

if __name__ == "__main__":
    program()
