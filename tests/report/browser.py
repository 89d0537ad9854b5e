"""A real Chromium with a report in it, watched: what it logs, and what it asks for."""

import json
import os
import shutil
from contextlib import contextmanager
from importlib.util import find_spec

import pytest

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
needs_chromium = [
    pytest.mark.browser,
    pytest.mark.skipif(
        (CHROMIUM is None or find_spec("playwright") is None) and not os.environ.get("CI"),
        reason="no Chromium, or no playwright: apt-get install chromium, pip install playwright",
    ),
]


@contextmanager
def started():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


class Watched:
    """A page and what happened on it."""

    def __init__(self, browser, path, **options):
        self.page = browser.new_page(**({"viewport": {"width": 1280, "height": 900}} | options))
        self.logged, self.asked, self.dialogs = [], [], []
        self.page.on("console", lambda message: self.logged.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.logged.append(f"error: {error}"))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("dialog", lambda dialog: (self.dialogs.append(dialog.message), dialog.dismiss()))
        self.page.goto(path.as_uri())
        self.own = path.as_uri()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.page.close()

    @property
    def strangers(self):
        """Requests for anything but the file itself."""
        return [url for url in self.asked if url.split("#")[0] != self.own]

    def enter(self, cases):
        """Put cases into the form, one after the other, and read what it says of each."""
        return self.page.evaluate(
            """(cases) => cases.map((values) => {
                const inputs = [...document.querySelectorAll("[data-field]")];
                inputs.forEach((input, i) => { input.value = values[i] ?? ""; });
                inputs[0].dispatchEvent(new Event("input", { bubbles: true }));
                const said = { ...document.getElementById("result").dataset };
                said.kept = inputs.map((input) => input.value);
                said.text = document.getElementById("result").innerText;
                said.changes = document.querySelectorAll(".changes li").length;
                return said;
            })""",
            cases,
        )

    @property
    def data(self):
        return json.loads(self.page.evaluate("document.getElementById('data').textContent"))
