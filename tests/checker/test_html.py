"""The validation report as a page, in a real browser: filters, links, hostile names, keyboard, themes, print."""

from __future__ import annotations

import importlib.util
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from reports import HOSTILE, WORKLOAD, finding, hostile, mixed, report_of, written

from mlpstorage.results.text import harmless
from rules import Severity
from submission_checker.report import CheckReport, Since, as_json

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
SELENIUM = importlib.util.find_spec("selenium") is not None
in_browser = pytest.mark.skipif(
    not (CHROMIUM and DRIVER and SELENIUM),
    reason="the packages chromium and chromium-driver, or selenium, are not installed here",
)

Open = Callable[..., Any]


def many() -> CheckReport:
    """Two submitters and four findings that differ in all that can be filtered by."""
    globex = "open/globex/results/slow-1/checkpointing/llama3-8b"
    return report_of(
        finding(1),
        finding(2, rule="4.6.2", name="ranks", severity=Severity.WARNING, message="exactly 4 ranks"),
        finding(3, path=globex, paths=(globex,), division="open", message="24 processes"),
        finding(4, path=globex, rule="4.7.2", name="duration", division="open", severity=Severity.INFO, outcome="note"),
    )


def wide() -> CheckReport:
    """More submitters, rules and letters than a page is wide."""
    import rules

    ids = [rule.id for rule in rules.load_edition("3.0").rules]
    return report_of(
        *(
            finding(number, rule=rule, path=f"closed/org{number % 25:02}{'x' * 40}/results/s{'y' * 60}/checkpointing/m")
            for number, rule in enumerate(ids * 2)
        )
    )


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A new Chromium that reaches no network, with a profile of its own."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for word in (
        "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        "--disable-dev-shm-usage", f"--user-data-dir={tmp_path_factory.mktemp('profile')}",
    ):  # fmt: skip
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    found = webdriver.Chrome(options=options, service=Service(str(DRIVER)))
    yield found
    found.quit()


@pytest.fixture
def page(driver: Any, tmp_path: Path) -> Iterator[Open]:
    """Opens a report as a page; in the end there must be no message in the browser's console."""

    def show(
        report: CheckReport, fragment: str = "", *, width: int = 1280, media: str = "", dark: bool = False,
        script: bool = True,
    ) -> Any:  # fmt: skip
        path = tmp_path / "report.html"
        path.write_text(written(report, "html"), encoding="utf-8")
        driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600},
        )
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": scheme})
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not script})
        driver.get("about:blank")
        driver.get(path.as_uri() + fragment)
        return driver

    yield show
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert driver.get_log("browser") == []


def select(browser: Any, name: str, value: str) -> None:
    from selenium.webdriver.support.ui import Select

    Select(browser.find_element("name", name)).select_by_visible_text(value)


def shown(browser: Any) -> list[str]:
    """Rules of the findings that are to be seen, with their submitters."""
    found = browser.find_elements("css selector", "article.finding")
    cards = [card for card in found if card.is_displayed()]
    return [f"{card.get_attribute('data-submitter')} {card.get_attribute('data-rule')}" for card in cards]


def counted(browser: Any) -> str:
    return str(browser.find_element("id", "shown").text)


ALL = ["acme 4.3.5", "acme 4.6.2", "globex 4.3.5", "globex 4.7.2"]


# --- Without a browser


@pytest.mark.parametrize("make", [mixed, hostile, many, lambda: CheckReport("3.0", "tree")])
def test_the_page_is_html_without_a_parse_error(make: Callable[[], CheckReport]) -> None:
    parser = pytest.importorskip("tinyhtml5.parser").HTMLParser()
    parser.parse(written(make(), "html"))
    assert parser.errors == []


def test_the_page_refers_to_nothing_outside() -> None:
    text = written(mixed(), "html")
    for word in ("src=", "@import", "url(", "<link", "http:", "https:"):
        assert word not in text
    assert "default-src 'none'" in unescape(text)


def test_the_page_says_what_clears_each_blocker_and_what_is_missing() -> None:
    text = written(mixed(), "html")
    blockers = text.split('id="blockers"')[1].split("</section>")[0]
    assert "Run with --num-processes 8." in blockers
    assert "summary.json is missing" in blockers
    missing = text.split('id="prerequisites"')[1].split("</section>")[0]
    assert "summary.json is missing" in missing
    assert "Leaves undecided: 4.3.4, 4.7.1" in missing
    assert "open/acme/results/locked: it could not be listed" in text.split('id="checked"')[1].split("</section>")[0]
    assert "until 2027-03-31: a known defect of the tool" in text


def test_the_page_does_not_say_that_all_was_judged_where_checks_could_not_be_decided() -> None:
    undecided = report_of(finding(1), tally={"4.3.5": Counter(undetermined=819)})
    text = " ".join(written(undecided, "html").split())
    assert "could not be decided 819 times" in text
    assert "could be read. Checks that could not be decided lack a value" in text
    decided = written(report_of(finding(1)), "html")
    assert "could be read.</p>" in decided


def test_rules_to_filter_by_stand_in_the_order_of_the_book() -> None:
    text = written(report_of(finding(1, rule="4.3.10"), finding(2, rule="1.2", path="open"), finding(3)), "html")
    options = text.split('<select name="rule">')[1].split("</select>")[0]
    assert re.findall("<option>(.*?)</option>", options) == ["1.2", "4.3.5", "4.3.10"]


def test_the_legend_of_the_heat_map_names_all_that_a_cell_may_hold() -> None:
    legend = written(many(), "html").split('aria-label="Legend"')[1].split("</p>")[0]
    assert [word for word in ("violated", "passed", "blank", "number") if word not in legend] == []


def test_a_long_statement_is_folded_and_complete() -> None:
    from rules import load_edition

    row = written(many(), "html").split('id="rule-1.2"')[1].split("</tr>")[0]
    statement = row.split('<td class="statement">')[1].split("</td>")[0]
    head = re.findall("<details><summary>(.*?)</summary>", statement)
    assert [len(text) <= 200 for text in head] == [True]
    (rule,) = (rule for rule in load_edition("3.0").rules if rule.id == "1.2")
    assert unescape(re.sub("<.*?>", "", statement)) == " ".join(rule.statement.split())


def test_links_to_the_parts_have_the_words_of_their_headings() -> None:
    text = written(mixed(), "html")
    assert '<a href="#map">Submitters and rules</a>' in text
    assert '<h2 id="map-title">Submitters and rules</h2>' in text


def test_what_was_cleared_since_is_listed() -> None:
    cleared = as_json(report_of(finding(message="the old message")))["findings"]
    text = written(report_of(since=Since("old.json", "3.0", cleared=cleared)), "html")
    assert "the old message" in text.split('id="checked"')[1].split("</section>")[0]


# --- In a browser


@in_browser
@pytest.mark.parametrize("width", [1280, 420])
@pytest.mark.parametrize("make", [mixed, hostile, wide])
def test_the_page_fits_its_window(page: Open, make: Callable[[], CheckReport], width: int) -> None:
    browser = page(make(), width=width)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    # Only the heat map may need to be scrolled sideways, within its own frame.
    frames = browser.execute_script(
        "return [...document.querySelectorAll('.wide')].filter(e => e.scrollWidth > e.clientWidth)"
        ".map(e => e.getAttribute('aria-labelledby'))"
    )
    assert set(frames) <= {"map-title"}


@in_browser
def test_names_have_the_room_that_status_and_numbers_leave(page: Open) -> None:
    browser = page(many(), width=800)
    widths = browser.execute_script(
        "return [...document.querySelectorAll('.statuses thead th')].map(e => e.getBoundingClientRect().width)"
    )
    assert widths[0] > sum(widths[1:])


@in_browser
def test_hostile_names_stay_text(page: Open) -> None:
    browser = page(hostile())
    assert browser.title == "NOT READY: validation report, edition 3.0"
    assert browser.execute_script("return document.querySelectorAll('img, svg, iframe, object, embed').length") == 0
    assert browser.execute_script("return document.scripts.length") == 1
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    messages = browser.execute_script(
        "return [...document.querySelectorAll('.finding .message')].map(e => e.textContent)"
    )
    assert sorted(messages) == sorted(harmless(text) for text in HOSTILE)
    hrefs = browser.execute_script("return [...document.querySelectorAll('a')].map(a => a.getAttribute('href'))")
    assert all(href.startswith("#") for href in hrefs)


@in_browser
def test_a_script_that_got_in_would_not_run(page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """The policy of the page holds even if an escape were forgotten."""
    from submission_checker.formats import _templates

    monkeypatch.setattr(
        _templates, "totals", lambda _: _markup("<script>document.title='owned'</script><b onclick='x'>b</b>")
    )
    browser = page(mixed())
    assert browser.title == "NOT READY: validation report, edition 3.0"
    refused = [entry["message"] for entry in browser.get_log("browser")]
    assert any("Content Security Policy" in message for message in refused)


def _markup(text: str) -> str:
    from markupsafe import Markup

    return Markup(text)


@in_browser
def test_findings_are_filtered(page: Open) -> None:
    browser = page(many())
    assert (shown(browser), counted(browser)) == (ALL, "4 findings")
    select(browser, "submitter", "globex")
    assert (shown(browser), counted(browser)) == (["globex 4.3.5", "globex 4.7.2"], "2 of 4 findings")
    select(browser, "severity", "error")
    assert shown(browser) == ["globex 4.3.5"]
    assert "rule" not in browser.current_url
    assert browser.current_url.endswith("#?submitter=globex&severity=error")
    browser.find_element("css selector", "#filters button").click()
    assert shown(browser) == ALL
    select(browser, "rule", "4.6.2")
    assert shown(browser) == ["acme 4.6.2"]
    headings = browser.find_elements("css selector", ".group h3")
    assert [head.text for head in headings if head.is_displayed()] == [
        "closed > acme > fast-1 > checkpointing/llama3-8b"
    ]
    select(browser, "rule", "all")
    options = browser.find_elements("css selector", "[name=division] option")
    assert [option.text for option in options] == ["all", "closed", "open"]
    select(browser, "division", "open")
    assert shown(browser) == ["globex 4.3.5", "globex 4.7.2"]


@in_browser
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("24 PROCESSES", ["globex 4.3.5"]),
        ("  slow-1 ", ["globex 4.3.5", "globex 4.7.2"]),
        ("args/processes", ALL),
        ("no such thing", []),
    ],
)
def test_findings_are_found_by_text(page: Open, text: str, found: list[str]) -> None:
    browser = page(many())
    browser.find_element("name", "text").send_keys(text)
    assert shown(browser) == found


@in_browser
def test_the_address_keeps_the_filters(page: Open) -> None:
    browser = page(many(), "#?submitter=acme&rule=4.3.5")
    assert shown(browser) == ["acme 4.3.5"]
    assert browser.find_element("name", "rule").get_property("value") == "4.3.5"
    browser.refresh()
    assert shown(browser) == ["acme 4.3.5"]
    browser = page(many(), "#?submitter=nobody&nonsense=1")
    assert shown(browser) == ALL


@in_browser
def test_a_cell_of_the_heat_map_leads_to_its_findings(page: Open) -> None:
    browser = page(many())
    cell = browser.find_element("css selector", "table.map td.violated a")
    assert cell.text.split() == ["\N{MULTIPLICATION SIGN}1", "violated"]
    cell.click()
    assert shown(browser) == ["acme 4.3.5"]
    head = browser.find_element("link text", "4.6.2")
    head.click()
    assert shown(browser) == ["acme 4.6.2"]


@in_browser
def test_rules_that_passed_everywhere_are_shown_on_demand(page: Open) -> None:
    browser = page(many())

    def columns() -> list[str]:
        heads = browser.find_elements("css selector", "table.map th.rule")
        return [head.text for head in heads if head.is_displayed()]

    assert columns() == ["4.3.5", "4.6.2"]
    browser.find_element("id", "all-rules").click()
    assert columns() == ["4.3.2", "4.3.5", "4.6.2", "4.6.4", "4.7.2"]


@in_browser
def test_a_link_opens_its_finding_whatever_is_filtered(page: Open) -> None:
    browser = page(many(), "#f-0000000000000003")
    card = browser.find_element("id", "f-0000000000000003")
    assert browser.switch_to.active_element == card
    assert card.find_element("css selector", ".evidence").is_displayed()
    assert not browser.find_element("id", "f-0000000000000001").find_element("css selector", ".evidence").is_displayed()
    select(browser, "submitter", "acme")
    assert not card.is_displayed()
    browser.execute_script("location.hash = '#f-0000000000000003'")
    assert card.is_displayed()
    assert shown(browser) == ALL
    blocker = browser.find_element("css selector", "#blockers a.rule")
    blocker.click()
    assert browser.switch_to.active_element.get_attribute("id") == "f-0000000000000001"


@in_browser
def test_findings_of_one_fingerprint_have_links_of_their_own(page: Open) -> None:
    browser = page(report_of(finding(1), finding(1, path=f"{WORKLOAD}/20260701_100000")))
    ids = browser.execute_script("return [...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    assert {"f-0000000000000001", "f-0000000000000001-2"} <= set(ids)


@in_browser
def test_evidence_comes_on_demand(page: Open) -> None:
    browser = page(many())
    card = browser.find_element("css selector", "article.finding")
    assert not card.find_element("css selector", ".evidence").is_displayed()
    card.find_element("css selector", "summary").click()
    row = card.find_element("css selector", ".evidence tbody tr").text
    assert row.split() == ["run.num_processes", "16", "20260701_100000/metadata.json#/args/processes"]


@in_browser
def test_the_keyboard_reaches_everything(page: Open) -> None:
    from selenium.webdriver.common.keys import Keys

    browser = page(many())

    def press(*keys: str) -> Any:
        for key in keys:
            browser.switch_to.active_element.send_keys(key)
        return browser.switch_to.active_element

    assert press(Keys.TAB).text == "Skip to the findings"
    press(Keys.ENTER)
    assert press("/").get_attribute("name") == "text"
    press(*"24 processes", Keys.TAB, Keys.ENTER)
    assert counted(browser) == "4 findings"
    browser.execute_script("document.activeElement.blur()")
    assert press("j").get_attribute("data-rule") == "4.3.5"
    assert press("j").get_attribute("data-rule") == "4.6.2"
    assert press("k").get_attribute("data-rule") == "4.3.5"
    assert press(Keys.TAB).text == "4.3.5"
    press(Keys.TAB, Keys.TAB, Keys.ENTER)
    assert browser.find_element("css selector", ".evidence").is_displayed()


@in_browser
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (420, True)])
def test_nothing_bars_anyone(page: Open, dark: bool, width: int) -> None:
    """What axe finds: contrast, names of controls, order of headings, and the like."""
    axe = pytest.importorskip("axe_selenium_python").Axe
    checker = axe(page(mixed(), dark=dark, width=width))
    checker.inject()
    # A link that filters is no link that skips: the keyboard test holds the one that does.
    problems = checker.run(options='{"rules": {"skip-link": {"enabled": false}}}')["violations"]
    assert [(item["id"], [node["html"] for node in item["nodes"]][:3]) for item in problems] == []


@in_browser
@pytest.mark.parametrize("dark", [False, True])
def test_the_theme_follows_the_system_and_can_be_changed(page: Open, dark: bool) -> None:
    browser = page(many(), dark=dark)

    def lightness() -> int:
        color = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        return int(color.split("(")[1].split(",")[0])

    assert (lightness() < 128) is dark
    browser.find_element("id", "theme").click()
    assert (lightness() < 128) is not dark
    browser.refresh()
    assert (lightness() < 128) is not dark
    browser.execute_script("localStorage.clear()")


@in_browser
def test_print_shows_the_evidence_and_no_controls(page: Open) -> None:
    browser = page(many(), media="print")
    visible = "return document.querySelector(arguments[0]).checkVisibility({contentVisibilityAuto: true})"
    assert browser.execute_script(visible, ".evidence")
    assert not browser.execute_script(visible, "#filters")
    assert not browser.execute_script(visible, "nav")
    assert len(browser.execute_cdp_cmd("Page.printToPDF", {})["data"]) > 10_000


@in_browser
def test_without_a_script_everything_is_there(page: Open) -> None:
    browser = page(many(), script=False)
    assert shown(browser) == ALL
    assert not browser.find_element("id", "filters").is_displayed()
    browser.find_element("css selector", "article.finding summary").click()
    assert browser.find_element("css selector", ".evidence").is_displayed()
