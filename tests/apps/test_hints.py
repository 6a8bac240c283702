"""Messages of the library without the names of Python arguments."""

from dempster.apps.hints import rewrite_message
from dempster.apps.studio.errors import rewrite_for_page


def render(name, value):
    return {"missing": f"--missing {value}", "n_clusters": "-c"}.get(name)


def test_settings_are_replaced_or_removed():
    text = "2 rows (in 'a=1', 'b (cm)'); leave them out (missing='drop') or not (exclude=['b'])"
    assert rewrite_message(text, render) == (
        "2 rows (in 'a=1', 'b (cm)'); leave them out (--missing drop) or not"
    )
    assert rewrite_message("reduce n_clusters or max_size", render) == (
        "reduce -c or max_size"
    )


def test_advice_on_convergence_is_kept_only_if_it_can_be_followed():
    text = "ECM did not converge in max_iter=30 iterations; increase max_iter or tol"
    assert rewrite_message(text, render) == "ECM did not converge in 30 iterations"

    def with_option(name, value):
        return f"--max-iter {value}" if name == "max_iter" else None

    assert rewrite_message(text, with_option).endswith("(increase --max-iter 30)")


def test_fields_of_the_page():
    text = (
        "-999 may mean missing values; if so, delete these cells (na_values=['-999'])"
    )
    assert rewrite_for_page(text) == text.partition(" (")[0]
    assert rewrite_for_page("n_init must be positive") == "n init must be positive"
