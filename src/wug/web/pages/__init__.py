"""The pages: a module here is a part of the site.

A module offers
    routes(site) -> list[BaseRoute]     what it answers
    NAV = (label, path, order)          its place in the navigation bar, if it has one
"""
