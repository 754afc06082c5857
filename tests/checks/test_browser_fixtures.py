"""The browser fixtures themselves: what goes wrong on a page is seen."""

from playwright.sync_api import Page


def test_an_error_on_the_page_is_heard(page: Page, page_errors: list[str]) -> None:
    page.set_content(
        "<p id=here>hello</p><script>console.error('mind this'); throw new Error('broken')</script>"
    )
    assert page.locator("#here").inner_text() == "hello"
    assert sorted(page_errors) == ["console: mind this", "page error: broken"]
    page_errors.clear()


def test_each_test_is_a_fresh_visitor(page: Page) -> None:
    assert page.context.cookies() == []
    assert page.evaluate("window.innerWidth") == 1280
