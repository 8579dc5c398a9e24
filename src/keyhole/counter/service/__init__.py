"""The HTTP service: a store of learners over HTTP, with an API, pages and access control."""
