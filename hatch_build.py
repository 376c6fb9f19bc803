"""Says where the project lives, in the metadata of its packages.

The address is that of the repository whose workflow builds the release, so that a fork's packages do not point here
and no address has to be written down twice. A build elsewhere has no addresses.
"""

import os
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class Addresses(MetadataHookInterface):
    """Fills in `project.urls`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the addresses of the repository that the workflow runs for."""
        server, repository = os.environ.get("GITHUB_SERVER_URL"), os.environ.get("GITHUB_REPOSITORY")
        home = f"{server}/{repository}"
        metadata["urls"] = (
            {
                "Homepage": home,
                "Documentation": f"{home}#readme",
                "Changelog": f"{home}/blob/main/CHANGELOG.md",
                "Issues": f"{home}/issues",
            }
            if server and repository
            else {}
        )
