"""Tools behind the pages: outputs of their blocks, and hooks of the site."""
