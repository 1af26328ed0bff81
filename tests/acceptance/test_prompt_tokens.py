"""What the observer sends of the example session, beside a naive layout in the same run."""

from benchmarks.prompt_tokens import BAR, SESSION, measure
from minutebook.settings import Settings


def test_observing_costs_at_most_four_fifths_of_a_naive_layout_003_017() -> None:
    sizes = measure(SESSION, 6, Settings())
    ours, naive = sizes.ours, sizes.naive
    assert len(ours.texts) == len(naive.texts) > sizes.runs > 10 and sizes.records > 150
    assert ours.tokens <= BAR * naive.tokens and BAR <= 0.8
    assert all(len(one) < len(other) for one, other in zip(ours.texts, naive.texts, strict=True))
    assert ours.cacheable > 0.6 and ours.firsts.cacheable > 0.1
