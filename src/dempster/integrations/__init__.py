"""Use of the clusterers in other libraries, which extras install: one module for each library."""
