"""report.html as a person meets it: on a desk and on a phone, light and dark, without a network."""

import importlib.util
import shutil
from pathlib import Path

import pytest

from groundup.experiments.report import write_report

pytestmark = pytest.mark.browser

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage"]
WIDTHS = {"desk": 1280, "phone": 390}


def _runs():
    """The made-up run folders of tests/experiments."""
    path = Path(__file__).parent.parent / "experiments" / "runs.py"
    spec = importlib.util.spec_from_file_location("made_up_runs", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def browser():
    api = pytest.importorskip("playwright.sync_api", reason="pip install -e '.[browser]'")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("needs Chromium (Debian's package chromium)")
    with api.sync_playwright() as playwright:
        window = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield window
        window.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Path:
    return write_report(_runs().write_run(tmp_path_factory.mktemp("run")))


@pytest.fixture(params=[(width, scheme) for width in WIDTHS for scheme in ("light", "dark")], ids=lambda p: "-".join(p))
def page(browser, report, request):
    """The report, opened; with what the browser complained about and asked for from elsewhere."""
    width, scheme = request.param
    context = browser.new_context(viewport={"width": WIDTHS[width], "height": 900}, color_scheme=scheme)
    page = context.new_page()
    page.complaints, page.requests = [], []
    page.on("console", lambda message: page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("request", lambda asked: page.requests.append(asked.url))
    page.goto(report.as_uri())
    yield page
    context.close()


def test_it_needs_no_network_and_has_no_errors(page, report):
    assert page.complaints == []
    assert {url for url in page.requests if not url.startswith("data:")} == {report.as_uri()}


def test_nothing_sticks_out_sideways(page):
    widths = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert widths[0] <= widths[1]


def test_curves_figures_and_samples_are_to_be_seen(page):
    assert page.locator("svg").first.is_visible()
    assert page.locator("svg path, svg polyline").count() >= 2
    text = page.inner_text("body").lower()
    for words in ("validation", "perplexity", "bits per byte", "tokens"):
        assert words in text


def test_text_can_be_told_from_its_background(page):
    """A contrast of 4.5 to 1 for running text, as WCAG asks (2.2, success criterion 1.4.3)."""
    colours = page.evaluate("""() => {
        const shown = getComputedStyle(document.body);
        return [shown.color, shown.backgroundColor === "rgba(0, 0, 0, 0)"
            ? getComputedStyle(document.documentElement).backgroundColor : shown.backgroundColor];
    }""")
    lighter, darker = sorted((_luminance(colour) for colour in colours), reverse=True)
    assert (lighter + 0.05) / (darker + 0.05) >= 4.5


def _luminance(colour: str) -> float:
    """Relative luminance of `rgb(r, g, b)` (WCAG 2.2)."""
    channels = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
