"""Use of the clusterers in other libraries: one module for each library, which an extra installs."""
