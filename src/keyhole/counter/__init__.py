"""The counter: learners in a database, asked and told by id, over HTTP and on pages."""
