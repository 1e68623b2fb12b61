"""Judges tell near misses apart: what does not move, or moves by less than noise, is no rise; what
only begins and ends right does not stay close; and what nobody measured is not said.
"""

from dataclasses import replace

import pytest

from tacit_papers.a.bounds import ScaleRow
from tacit_papers.a.coefficients import CoefficientRow
from tacit_papers.a.measurements import TableRow, published_cell
from tacit_papers.a.published import EPSILONS
from tacit_papers.a.splitting import SplitRow
from tacit_papers.b.hits import HitRow
from tacit_papers.c.experiment import SiteRow
from tacit_papers.c.span import SpanRow
from tacit_papers.claims import judge_all
from tacit_papers.d.edge import EdgeRow
from tacit_papers.d.experiment import ALONE, PeerRow
from tacit_papers.d.experiment import EPSILONS as OF_PEERS
from tacit_papers.registry import PAPERS
from tacit_papers.shared.curves import CurveRow
from tacit_papers.shared.first_learner import FirstRow

STUMPS = "random stumps, as published"


def verdict(paper, rows, *words):
    """Of the one statement whose place and text have these words."""
    (claim,) = (
        claim
        for claim in judge_all(paper, PAPERS[paper].statements(), rows)
        if all(word in f"{claim.where}: {claim.text}" for word in words)
    )
    assert claim.verdict != "unchecked", claim.why
    return claim.verdict


def curve(means, *, paper="a", errors=None, alpha=0.5, std=0.001, **who):
    """Ten base learners, or as many as there are means, as published."""
    fields = {"dataset": "mnist", "learner": "stump", "epsilon": 7.0, **who}
    return [
        CurveRow(
            paper=paper,
            source=fields["dataset"],
            variant="as published",
            mechanism="none" if fields["epsilon"] is None else "piecewise",
            learners=place,
            mean=mean,
            std=std,
            reached=1.0,
            error=mean if errors is None else errors[place - 1],
            alpha=alpha,
            runs=10,
            owners=200,
            rows_per_owner=20,
            published=None,
            unsound="leaks",
            **fields,
        )
        for place, mean in enumerate(means, start=1)
    ]


def line(first, last, count=10):
    return [first + (last - first) * place / (count - 1) for place in range(count)]


def firsts(means, *, where, dataset="mnist", learner="centroid", paper="a", std=0.001, **who):
    """A first learner through one mechanism, by epsilon."""
    fields = {"mechanism": "piecewise", "owners": 1_000, "runs": 10, **who}
    epsilons = who.pop("epsilons", EPSILONS)
    fields.pop("epsilons", None)
    return [
        FirstRow(
            paper=paper,
            where=where,
            dataset=dataset,
            source=dataset,
            learner=learner,
            variant="as published",
            epsilon=epsilon,
            rows_per_owner=4,
            mean=mean,
            std=std,
            measure="l2",
            error=1.0,
            error_std=0.1,
            unsound="leaks",
            **fields,
        )
        for epsilon, mean in zip(epsilons, means, strict=True)
    ]


def test_weighted_errors_must_rise_and_not_only_lie_near():
    def judged(first, last):
        errors = line(first, last)
        rows = curve(line(0.4, 0.2), dataset="fashion", epsilon=9.0, errors=errors)
        return verdict("a", rows, "fashion, private stumps", "half of the rise")

    assert judged(0.33, 0.40) == judged(0.34, 0.38) == "holds"
    assert judged(0.38, 0.35) == judged(0.37, 0.37) == judged(0.36, 0.38) == "differs"


def test_votes_are_compared_over_all_rounds():
    def judged(count):
        private = curve(line(0.2, 0.1), dataset="synthetic", learner="centroid")[:count]
        free = curve(line(0.2, 0.1), dataset="synthetic", learner="centroid", epsilon=None)
        return verdict("a", [*private, *free], "synthetic: private centroids (epsilon 7) have the")

    assert judged(10) == "holds"
    assert judged(3) == "differs"


def test_votes_must_be_there_without_privacy_too():
    def judged(free):
        rows = [
            *curve(line(0.2, 0.1)),
            *curve(line(0.2, 0.1), epsilon=None, alpha=free),
        ]
        return verdict("a", rows, "mnist: votes of stumps are not near 0")

    assert judged(0.2) == "holds"
    assert judged(0.05) == "differs"


@pytest.mark.parametrize(
    ("means", "std", "expected"),
    [
        ((0.5, 0.6, 0.7, 0.75, 0.8), 0.01, "holds"),
        ((0.5, 0.51, 0.5, 0.51, 0.52), 0.05, "differs"),  # noise
        ((0.5, 0.5, 0.5, 0.5, 0.5), 0.0, "differs"),
        ((0.5, 0.8, 0.6, 0.75, 0.8), 0.01, "differs"),  # a step back
    ],
)
def test_accuracy_rises_with_epsilon_only_beyond_noise(means, std, expected):
    rows = [
        row
        for name in ("piecewise", "duchi")
        for row in firsts(means, where="Table II, Fig. 2", mechanism=name, std=std)
    ]
    assert verdict("a", rows, "mnist: the first centroids get more accurate") == expected


def test_more_owners_bring_accuracy_beyond_noise():
    def judged(last, std):
        rows = [
            replace(row, owners=owners, error=10 / owners)
            for owners, mean in ((100, 0.6), (1_000, last))
            for row in firsts((mean,), where="Fig. 3", epsilons=(5.0,), std=std)
        ]
        return verdict("a", rows, "Fig. 3", "more owners")

    assert judged(0.8, 0.05) == "holds"
    assert judged(0.601, 0.05) == judged(0.6, 0.0) == "differs"


def test_more_epsilon_helps_ten_learners_beyond_noise():
    def judged(last):
        rows = [
            row
            for epsilon, mean in ((5.0, 0.09), (7.0, last))
            for row in curve(line(0.2, mean), learner="centroid", epsilon=epsilon, std=0.01)
        ]
        return verdict(
            "a", rows, "mnist, boosted centroid: ten private learners err less with more"
        )

    assert judged(0.07) == "holds"
    assert judged(0.088) == judged(0.10) == "differs"


def table(name, dataset, mechanism, means):
    measure = {"III": "square", "IV": "mse"}[name]
    return [
        TableRow(
            *(name, dataset, dataset, measure, mechanism, epsilon, 200, 20, mean, mean / 20, 10),
            published_mean=None if paper is None else paper.mean,
            published_std=None if paper is None else paper.std,
            holds=True,
            unsound="leaks",
        )
        for epsilon, mean in zip(EPSILONS, means, strict=True)
        for paper in [published_cell(name, dataset, mechanism, epsilon)]
    ]


def test_a_plateau_is_flat_and_has_a_slope_before_it():
    def judged(*means):
        rows = [
            row
            for dataset in ("mnist", "fashion", "synthetic")
            for row in table("III", dataset, "piecewise", means)
        ]
        return verdict("a", rows, "Table III", "hardly change")

    assert judged(5.0, 0.25, 0.22, 0.1, 0.09) == "holds"
    assert judged(5.0, 0.5, 0.22, 0.1, 0.09) == "differs"
    assert judged(0.26, 0.25, 0.22, 0.1, 0.09) == "differs"


def test_noise_is_held_against_what_it_must_not_hide():
    def judged(*means):
        scale = ScaleRow("mnist", "impurity", 0.2)
        rows = [scale, *table("III", "mnist", "piecewise", (5.0, 0.3, *means))]
        return verdict("a", rows, "mnist: from epsilon 5 on, the disturbance")

    assert judged(0.22, 0.2, 0.18) == "holds"
    assert judged(0.22, 0.2, 0.08) == judged(0.5, 0.2, 0.18) == "differs"


def test_epsilon_split_between_attributes():
    def judged(word, *pairs):
        rows = [
            SplitRow(dim, sampled, split, 20)
            for dim, (sampled, split) in zip((10, 40, 160), pairs, strict=True)
        ]
        return verdict("a", rows, "section II-D", word)

    assert judged("less noise", (0.4, 1.0), (1.0, 7.0), (3.0, 32.0)) == "holds"
    assert judged("less noise", (0.4, 0.3), (1.0, 7.0), (3.0, 32.0)) == "differs"
    assert judged("faster than d", (0.4, 1.0), (1.0, 7.0), (3.0, 32.0)) == "holds"
    assert judged("faster than d", (0.4, 1.0), (1.0, 7.0), (3.0, 15.0)) == "differs"
    assert judged("faster than d", (0.4, 1.0), (1.0, 7.0), (7.0, 32.0)) == "differs"


def test_coefficients_stay_on_both_sets_or_they_do_not():
    def judged(*rows):
        return verdict("a", rows, "coefficients of regressions", "without privacy")

    mnist, fashion = (CoefficientRow(name, None, 2, 0.99, 1.0, 5) for name in ("mnist", "fashion"))
    assert judged(mnist, fashion) == "holds"
    assert judged(mnist, replace(fashion, learners=9, cosine=0.9)) == "differs"
    assert judged(mnist) == "differs"


def hits(top1, top3, mechanism):
    return [
        HitRow("b", "mnist", "mnist", "as published", mechanism, e, one, three, 100, 1_000, 40, "x")
        for e, one, three in zip(EPSILONS, top1, top3, strict=True)
    ]


def test_hitting_rates_rise_beyond_what_a_hundred_runs_can_be_wrong():
    up, flat = (0.2, 0.3, 0.4, 0.5, 0.6), (0.20, 0.21, 0.20, 0.22, 0.23)

    def judged(top1, top3):
        rows = [row for name in ("piecewise", "duchi") for row in hits(top1, top3, name)]
        return verdict("b", rows, "mnist: hitting rates rise")

    assert judged(up, up) == "holds"
    assert judged(flat, up) == judged(up, flat) == judged(up, up[::-1]) == "differs"


def test_regressions_of_b_gain_beyond_noise_through_every_mechanism():
    def judged(laplace):
        rows = [
            row
            for name, last in (("laplace", laplace), ("duchi", 0.6), ("piecewise", 0.7))
            for row in firsts(
                (0.1, 0.1, 0.1, 0.1, last),
                where="Table 2, Fig. 2",
                paper="b",
                learner="logistic",
                mechanism=name,
                std=0.01,
            )
        ]
        return verdict("b", rows, "mnist: regressions get more accurate")

    assert judged(0.2) == "holds"
    assert judged(0.104) == "differs"


def test_private_stumps_of_b_are_close_all_along_and_not_only_in_the_end():
    def judged(*means):
        rows = [
            *curve(means, paper="b", epsilon=5.0),
            *curve((0.2, 0.15, 0.1), paper="b", epsilon=None),
        ]
        return verdict("b", rows, "mnist, epsilon 5: private stumps are like as many")

    assert judged(0.4, 0.19, 0.12) == "holds"  # the first one is the figure's beginning
    assert judged(0.4, 0.25, 0.12) == judged(0.4, 0.19, 0.16) == judged(0.2, 0.09, 0.1) == "differs"


def test_boosted_regressions_of_b_need_more_than_one():
    def judged(*means):
        rows = curve(means, paper="b", learner="logistic", epsilon=None)
        return verdict("b", rows, "section 4.1", "without privacy")

    assert judged(0.18, 0.175) == "holds"
    assert judged(0.18, 0.15) == judged(0.18) == "differs"


def site_line(method, means, varied="epsilon", std=0.01):
    at = {"epsilon": (0.025, 0.1, 0.25), "records": (39, 158, 789), "sites": (2, 10, 20)}[varied]
    return [
        SiteRow(
            dataset="mnist",
            varied=varied,
            epsilon=value if varied == "epsilon" else 0.1,
            records=int(value) if varied == "records" else 788,
            sites=int(value) if varied == "sites" else 10,
            method=method,
            mean=mean,
            std=std,
            runs=10,
            unsound="",
        )
        for value, mean in zip(at, means, strict=True)
    ]


def test_the_lucky_one_of_several_numbers_of_sites_is_not_better():
    def judged(*means):
        rows = site_line("FL feature, as published", means, "sites")
        return verdict("c", rows, "mnist: under a proper choice of N")

    assert judged(0.2, 0.15, 0.3) == "holds"
    assert judged(0.2, 0.195, 0.3) == judged(0.2, 0.2, 0.2) == "differs"


def test_both_private_methods_get_better_beyond_noise():
    def judged(feature, average):
        rows = [
            *site_line("FL feature, as published", feature, "records"),
            *site_line("AL average, as published", average, "records"),
        ]
        return verdict("c", rows, "mnist: both private methods get better with records")

    assert judged((0.3, 0.2, 0.1), (0.5, 0.4, 0.3)) == "holds"
    assert judged((0.3, 0.2, 0.295), (0.5, 0.4, 0.3)) == "differs"


def test_noise_costs_the_feature_method_less_at_every_epsilon():
    def judged(feature):
        rows = [
            *site_line("FL feature, as published", feature),
            *site_line("AL average, as published", (0.5, 0.4, 0.3)),
            *site_line("FN feature, no privacy", (0.02,) * 3),
            *site_line("AN average, no privacy", (0.02,) * 3),
        ]
        return verdict("c", rows, "mnist: noise costs the feature method less")

    assert judged((0.3, 0.2, 0.1)) == "holds"
    assert judged((0.3, 0.2, 0.295)) == judged((0.6, 0.2, 0.1)) == "differs"


def test_a_site_alone_gets_worse_with_fewer_records():
    def judged(*means):
        rows = site_line("one site, no privacy", means, "sites")
        return verdict("c", rows, "mnist: with more sites of the same data")

    assert judged(0.02, 0.05, 0.08) == "holds"
    assert judged(0.05, 0.05, 0.051) == judged(0.08, 0.05, 0.02) == "differs"


def test_more_sites_lie_clearly_farther_from_their_span():
    def judged(last):
        rows = [
            SpanRow("sites", sites, 50, 400, None, estimation, 0.1, 10)
            for sites, estimation in ((2, 0.005), (20, last))
        ]
        return verdict("c", rows, "with more sites it is farther")

    assert judged(0.02) == "holds"
    assert judged(0.006) == judged(0.004) == "differs"


def peers(method, means, *, epsilons=OF_PEERS, rounds=30, std=0.001, served=False):
    return [
        PeerRow(
            dataset="adult",
            method=method,
            epsilon=epsilon,
            rounds=rounds,
            own=None if served else mean,
            own_std=std,
            served=mean if served else None,
            served_std=std,
            runs=5,
            participants=10,
            unsound="leaks",
        )
        for epsilon, mean in zip(epsilons, means, strict=True)
    ]


def test_more_rounds_do_harm_only_beyond_noise():
    def judged(*means, std=0.001):
        rows = [
            row
            for rounds, mean in zip((1, 10, 20, 30), means, strict=True)
            for row in peers(STUMPS, (mean,), epsilons=(0.1,), rounds=rounds, std=std)
        ]
        return verdict("d", rows, "adult: at epsilon 0.1 more rounds")

    assert judged(0.7, 0.78, 0.79, 0.77) == "holds"
    assert judged(0.9, 0.78, 0.779, 0.78, std=0.01) == "differs"  # one round is no number of them
    assert judged(0.7, 0.78, 0.79, 0.80) == "differs"


def test_rises_of_peers_are_beyond_noise():
    def judged(last, words, std=0.01):
        rows = [
            row
            for rounds in (10, 30)
            for row in peers(
                STUMPS,
                (0.78, 0.78, 0.78, 0.78, 0.78, last if rounds == 30 else 0.79),
                rounds=rounds,
                std=std,
            )
        ]
        return verdict("d", rows, words)

    with_rounds = "adult: at epsilon 4 accuracy rises with rounds"
    assert judged(0.82, with_rounds) == "holds"
    assert judged(0.795, with_rounds) == judged(0.78, with_rounds) == "differs"
    with_epsilon = "adult: accuracy rises with epsilon"
    assert judged(0.82, with_epsilon, std=0.001) == "holds"
    assert judged(0.82, with_epsilon) == "differs"  # with 10 rounds a point is noise


def test_one_method_is_better_than_another_beyond_noise():
    def judged(own, words):
        rows = [
            *peers(STUMPS, (own,) * 6, std=0.01),
            *peers("passed trees (InPriv)", (0.80,) * 6, std=0.01, served=True),
            *(
                replace(row, dataset="gss")
                for method, mean in ((STUMPS, 0.8), ("passed trees (InPriv)", 0.8))
                for row in peers(method, (mean,) * 6)
            ),
        ]
        return verdict("d", rows, words)

    for words in ("adult: on average over epsilon, better than InPriv", "adult: especially at"):
        assert judged(0.83, words) == "holds"
        assert judged(0.805, words) == judged(0.80, words) == judged(0.77, words) == "differs"
    sometimes = "in some situations InPriv is a little better"
    assert judged(0.77, sometimes) == "holds"
    assert (
        judged(0.795, sometimes) == judged(0.83, sometimes) == judged(0.70, sometimes) == "differs"
    )


def test_what_others_stumps_bring():
    def judged(shared, words, rounds):
        rows = [
            *peers(STUMPS, shared, rounds=rounds),
            *peers(ALONE, (0.75, 0.76, 0.77, 0.78, 0.79, 0.80), rounds=rounds),
        ]
        return verdict("d", rows, words)

    base, end = "adult: the base model of one iteration", "adult: and so is what a participant has"
    up = (0.76, 0.77, 0.78, 0.79, 0.80, 0.81)
    assert judged(up, base, 1) == judged(up, end, 30) == "holds"
    assert judged((*up[:5], 0.80), base, 1) == "differs"
    assert judged((0.75, 0.76, 0.77, 0.78, 0.79, 0.801), end, 30) == "differs"


def test_time_of_a_participant_is_judged_for_one_thing_at_a_time():
    def judged(seconds, what):
        usual = EdgeRow("adult", 4_000, 12, 10, 30, 1.0, 1.0, 1_000, 9_000, 700.0)
        others = {
            "rows": replace(usual, rows=1_000),
            "attributes": replace(usual, attributes=6),
            "participants": replace(usual, participants=5),
            "rounds": replace(usual, rounds=120),
        }
        others[what] = replace(others[what], seconds=seconds)
        rows = [usual, *others.values()]
        return verdict("d", rows, "adult: a participant's time", f"with {what} ")

    assert judged(0.5, "attributes") == judged(0.25, "rows") == judged(4.0, "rounds") == "holds"
    assert judged(0.3, "attributes") == judged(0.1, "rows") == judged(6.0, "rounds") == "differs"


@pytest.mark.parametrize(
    ("others", "std", "expected"),
    [
        ((0.6, 0.55), 0.01, "holds"),  # ahead
        ((0.7, 0.7), 0.01, "differs"),  # all alike: nobody is most accurate
        ((0.66, 0.55), 0.3, "differs"),  # ahead by less than noise
    ],
)
@pytest.mark.parametrize(
    ("paper", "where", "figure"),
    [("a", "Table II, Fig. 2", "Fig. 2"), ("b", "Fig. 3", "Fig. 3")],
)
def test_most_accurate_is_ahead_and_not_only_level(paper, where, figure, others, std, expected):
    means = {"piecewise": 0.7, "duchi": others[0], "laplace": others[1]}
    rows = [
        row
        for mechanism, mean in means.items()
        for row in firsts([mean] * 5, where=where, paper=paper, mechanism=mechanism, std=std)
    ]
    assert verdict(paper, rows, f"{figure}: mnist", "most accurate") == expected


def test_more_accuracy_than_duchi_is_beyond_noise():
    def rows(mean):
        return [
            replace(row, owners=owners, error=error)
            for mechanism, own, error in (("piecewise", mean, 0.1), ("duchi", 0.7, 0.2))
            for owners in (100, 1_000)
            for row in firsts(
                [own],
                where="Fig. 4",
                paper="b",
                learner="logistic",
                mechanism=mechanism,
                epsilons=(5.0,),
            )
        ]

    words = ("Fig. 4", "any number of owners")
    assert verdict("b", rows(0.75), *words) == "holds"
    assert verdict("b", rows(0.70), *words) == "differs"


def test_the_feature_method_is_better_and_steadier_beyond_noise():
    def rows(feature, std):
        lines = (("FL feature", feature, std), ("AL average", [0.30, 0.28, 0.26], 0.02))
        return [
            row
            for name, means, spread in lines
            for row in site_line(f"{name}, as published", means, "records", std=spread)
        ]

    better, steadier = ("mnist", "whatever records is"), ("mnist", "over records per site, too")
    assert verdict("c", rows([0.20, 0.19, 0.18], 0.005), *better) == "holds"
    assert verdict("c", rows([0.20, 0.19, 0.18], 0.005), *steadier) == "holds"
    assert verdict("c", rows([0.299, 0.279, 0.259], 0.018), *better) == "differs"
    assert verdict("c", rows([0.20, 0.19, 0.18], 0.018), *steadier) == "differs"


@pytest.mark.parametrize(("paper", "where"), [("a", "section V-C"), ("b", "section 4.1")])
def test_that_boosting_brings_nothing_needs_a_second_learner(paper, where):
    """A curve stays level, too, where every further round was dropped."""
    level = curve([0.04] * 5, paper=paper, learner="logistic", epsilon=None)
    dropped = [level[0], *(replace(row, reached=0.0, error=None) for row in level[1:])]
    words = (where.lower(), "brings regressions nothing", "without privacy")

    def judged(rows):
        (claim,) = (
            claim
            for claim in judge_all(paper, PAPERS[paper].statements(), rows)
            if all(word in f"{claim.where}: {claim.text}".lower() for word in (*words, "mnist"))
        )
        return claim.verdict

    assert judged(level) == "holds"
    assert judged(dropped) == "differs"
