"""Pages for people: the counter, the dashboard, learners, administration."""

from keyhole.counter.service.pages.page_route import error_page, login_page
from keyhole.counter.service.pages.router import add_pages, pages_router

__all__ = ["add_pages", "error_page", "login_page", "pages_router"]
