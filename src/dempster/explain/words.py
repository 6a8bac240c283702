"""Old names of functions in `dempster._text`, until the applications use that module."""

from dempster._text import format_answer as answer_words
from dempster._text import format_cluster as cluster_name
from dempster._text import format_count as numbered
from dempster._text import format_number as short_number

__all__ = ["cluster_name", "answer_words", "short_number", "numbered"]
