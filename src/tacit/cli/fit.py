"""tacit fit: a private model from a file of owners' rows and a file of public rows. Options and
files are checked here, before anything is loaded that computes.

A new estimator that can be saved is one more line of `METHODS`.
"""

from dataclasses import dataclass, replace
from glob import glob
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit._util.checks import bad, check_delta, check_engine, one_of, positive, whole
from tacit._util.file_checks import Heading, check_file, check_table, check_writable
from tacit._util.stopping import on_interrupt
from tacit.cli._options import (
    CLASSES,
    NUMBERS,
    Categories,
    Decimal,
    Encoding,
    Label,
    LeaveOut,
    ListenTo,
    SchemaFile,
    Target,
    TargetRange,
    check_target,
)
from tacit.cli._output import Screen
from tacit.sums import NOBODY, TRUSTS

_NO_PUBLIC = (
    "--public FILE is missing: rows that you may use freely (your own, or published ones) "
    "give bounds, categories, classes and the model to start from; or --public-rows 200 gives up "
    "200 rows of {data}: those are NOT protected"
)


@dataclass(frozen=True)
class FitMethod:
    """An estimator by its name in `tacit`, and the options that it takes.

    `least` and `most` bound the number of owners. `takes` is what its fit can be handed:
    "baseline", "outlook". `fixed` is what the method says by its name. `is_served` False: it leaves
    participants models of their own, and none to write.
    """

    kind: str
    options: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    fixed: tuple[tuple[str, Any], ...] = ()
    least: int = 1
    most: int | None = None
    two_classes: bool = False
    is_served: bool = True

    def check_options(self, name: str, given: dict[str, Any]) -> None:
        """Refuse options that the estimator does not have."""
        chosen = {option for option, value in given.items() if value is not None}
        wrong = sorted(chosen - {*self.options, "epsilon", "random_state"})
        if wrong:
            named = ", ".join(_flag(option) for option in wrong)
            known = ", ".join(_flag(option) for option in self.options) or "none of these options"
            raise ValueError(f"{named} does not go with --method {name}, which takes {known}")

    def check_column(self, name: str, owners: str | None) -> None:
        """Refuse few owners with many rows each that no column tells apart."""
        if self.most is not None and owners is None:
            raise ValueError(
                f"--method {name} needs --owners, the column that names who holds a row"
            )


OF_LEARNERS = ("cuts", "ridge", "bound")  # options of base learners

METHODS = {
    "classifier": FitMethod(
        "PrivateClassifier",
        ("features", "rows_per_owner", "mechanism", "rounds", "trust", "delta", "engine"),
        takes=("baseline", "outlook"),
    ),
    "boosting": FitMethod(
        "PrivateBoosting",
        (
            *("learner", *OF_LEARNERS, "mechanism", "rounds", "owners_per_round", "attempts"),
            *("trust", "delta", "engine"),
            *("error", "error_epsilon", "sums"),
        ),
        takes=("baseline",),
    ),
    # few owners with many records: each record is protected
    "sites": FitMethod(
        "SiteEnsemble",
        ("combine", "privacy", "loss", "ridge", "components", "trust", "delta", "engine"),
        most=1000,
    ),
    **{
        name: FitMethod(
            "PeerEnsemble",
            ("rounds", "rho", "listen_to", "bins", "ridge", "engine"),
            fixed=(("method", method),),
            least=2,
            most=200,
            two_classes=True,
        )
        for name, method in (("peers", "turns"), ("stumps", "stumps"), ("trees", "trees"))
    },
}


OF_NUMBERS = {
    "sites": FitMethod(
        "SiteEnsembleRegressor",
        ("combine", "privacy", "loss", "ridge", "components", "engine"),
        most=1000,
    ),
}


def method_of(name: str, target: str = CLASSES) -> FitMethod:
    """A method by its name and what it predicts; what a paper published of peers, too, where
    `tacit_papers` is.
    """
    if target == NUMBERS:
        return OF_NUMBERS[name]
    if name in METHODS:
        return METHODS[name]
    from tacit.learners.owners import load_simulations
    from tacit.learners.peers.own_model import SCHEMES

    load_simulations()
    if name not in SCHEMES:
        published = f"; or, simulated and NOT PRIVATE, {'; '.join(SCHEMES)}" if SCHEMES else ""
        raise bad("method", f"one of {', '.join(sorted(METHODS))}{published}", name)
    return replace(
        METHODS["stumps"],
        options=("rounds", "bins"),
        fixed=(("method", name),),
        is_served=False,
    )


def _flag(option: str) -> str:
    return f"--{option.replace('_', '-')}"


def fit(
    data: Annotated[
        Path,
        typer.Argument(help="Owners' rows, CSV or parquet: a file, a folder or a pattern."),
    ],
    label: Label,
    owners: Annotated[
        str | None, typer.Option(help="Column that names owners; default: each row its own.")
    ] = None,
    public: Annotated[
        Path | None, typer.Option(help="Your own or published rows, same columns.")
    ] = None,
    public_rows: Annotated[
        int | None, typer.Option(help="Instead: rows of DATA to give up. NOT PROTECTED.")
    ] = None,
    epsilon: Annotated[
        float, typer.Option(help="What one owner (sites, peers: one record) may spend.")
    ] = 1.0,
    out: Annotated[Path, typer.Option(help="Where to write the model.")] = Path("model.tacit"),
    test: Annotated[
        Path | None, typer.Option(help="Rows with labels to measure on; they decide nothing.")
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            help="classifier; boosting (papers A, B); sites (paper C; with --target numbers its "
            "regressions); peers (in turns), stumps (paper D) or trees (after InPriv); with "
            "tacit-papers also DiffPRS (paper D as published), a simulation and NOT PRIVATE."
        ),
    ] = "classifier",
    features: Annotated[
        str | None,
        typer.Option(
            help="Of the classifier: auto (default), linear, products, waves, leaves; or trees, "
            "grown from owners' answers (gradient boosting, which paper A leaves for later)."
        ),
    ] = None,
    learner: Annotated[
        str | None,
        typer.Option(
            help="Of boosting: stump, centroid, logistic (paper A); with tacit-papers also "
            "'stump, as published' and the like, which are simulations and NOT PRIVATE."
        ),
    ] = None,
    cuts: Annotated[
        int | None,
        typer.Option(help="Of stumps (paper A): cuts per column; 1 is the best of yours.", min=1),
    ] = None,
    ridge: Annotated[
        float | None,
        typer.Option(
            help="Of regressions (paper A), sites (C) and peers' own models (D): how strongly they "
            "are held."
        ),
    ] = None,
    bound: Annotated[
        float | None,
        typer.Option(help="Of regressions (paper A): the public length of coefficients."),
    ] = None,
    error: Annotated[
        str | None,
        typer.Option(
            help="Of boosting: a base model's error from 'public' rows (paper A), or from all "
            "'owners' by noisy sums (paper B)."
        ),
    ] = None,
    error_epsilon: Annotated[
        float | None, typer.Option(help="What one owner may spend on those sums, besides.")
    ] = None,
    sums: Annotated[
        str | None,
        typer.Option(
            help="How those are added up: by 'two servers' (default); with tacit-papers also paper "
            "B's 'ring' and 'shamir', which are simulations and NOT PRIVATE."
        ),
    ] = None,
    owners_per_round: Annotated[
        int | None, typer.Option(help="Of boosting: how many a round asks (H of paper A).", min=1)
    ] = None,
    attempts: Annotated[
        int | None,
        typer.Option(help="Of boosting (paper A): tries of a round before it ends.", min=1),
    ] = None,
    combine: Annotated[
        str | None,
        typer.Option(
            help="Of sites: guarded, or paper C's feature or average, which may be worse than "
            "your own rows."
        ),
    ] = None,
    privacy: Annotated[
        str | None,
        typer.Option(
            help="Of sites: objective or output; 'published' (paper C), 'published, Lambda' (its "
            "other reading) and 'none' are simulations and NOT PRIVATE."
        ),
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option(help="Of sites (paper C): huber_hinge or logistic; huber for numbers."),
    ] = None,
    components: Annotated[
        int | None,
        typer.Option(help="Of sites (paper C): how many principal components they see.", min=1),
    ] = None,
    target: Target = CLASSES,
    target_range: TargetRange = None,
    rho: Annotated[
        float | None,
        typer.Option(
            help="Of peers (paper D, eq. 8): who is left out of a participant's own model; 1 is as "
            "bad as chance."
        ),
    ] = None,
    listen_to: ListenTo = None,
    bins: Annotated[
        int | None,
        typer.Option(help="Of peers (paper D): cells that a number's range is cut into.", min=2),
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(help="In how many rounds to ask (T of papers A, B and D).", min=1)
    ] = None,
    mechanism: Annotated[
        str | None, typer.Option(help="Default: the one with the least error.")
    ] = None,
    trust: Annotated[
        str | None,
        typer.Option(
            help="Whom owners trust: nobody (default), or 'two servers', one of which is honest."
        ),
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(help="With --trust 'two servers': the chance that epsilon does not hold."),
    ] = None,
    rows_per_owner: Annotated[
        int | None, typer.Option(help="How many rows owners have, as far as known.", min=1)
    ] = None,
    schema: SchemaFile = None,
    category: Categories = None,
    leave_out: LeaveOut = None,
    decimal: Decimal = ".",
    encoding: Encoding = "utf-8",
    engine: Annotated[
        str | None,
        typer.Option(help="Where owners are asked: inline (default), ray, or ray://host:port."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Reproducible, NOT PRIVATE; default: secure coins.", min=0)
    ] = None,
    *,
    screen: Screen,
) -> None:
    """Fit a private model: every owner of DATA speaks at most once, in noise.

    All that is not paid for with epsilon (bounds, categories, classes, the model to start from)
    comes from the public rows. What to expect is told first; where owners cannot add to your own
    rows, nobody is asked.

    --method sites and peers are for few owners with many rows each: they protect every record
    instead of every owner.

    Ctrl-C (exit status 130) keeps the rounds that are done: they are written as a model, which says
    how many they are.

    Example:
        tacit fit people.parquet --label income --owners state --public mine.csv \\
        --epsilon 1 --out model.tacit
    """
    trusted = NOBODY if trust is None else trust
    check_target(method, target, target_range, (trusted,))
    chosen = method_of(method, target)
    chosen.check_column(method, owners)
    options: dict[str, Any] = {"learner": learner, "rounds": rounds, "mechanism": mechanism}
    options |= {"cuts": cuts, "ridge": ridge, "bound": bound, "error": error}
    options |= {"error_epsilon": error_epsilon, "owners_per_round": owners_per_round}
    options |= {"sums": sums, "features": features}
    options |= {"attempts": attempts, "combine": combine, "privacy": privacy}
    options |= {"rows_per_owner": rows_per_owner, "epsilon": epsilon, "random_state": seed}
    options |= {"trust": trust, "delta": delta, "engine": engine, "loss": loss}
    options |= {"components": components, "rho": rho, "listen_to": listen_to, "bins": bins}
    chosen.check_options(method, options)
    if error != "owners" and not (sums is None and error_epsilon is None):
        given = "error_epsilon" if sums is None else "sums"
        raise ValueError(f"{_flag(given)} goes with --error owners, and only there")
    if owners == label:
        raise ValueError(f"--owners and --label must be two columns, got {label!r} for both")
    files = FitFiles(data, public, public_rows, test=test, out=out, written=(decimal, encoding))
    headings = files.check(label, owners)
    positive("epsilon", epsilon)
    one_of("trust", trusted, TRUSTS)
    check_engine("inline" if engine is None else engine)
    if delta is not None:
        check_delta(delta)
        if trusted == NOBODY:
            raise ValueError("--delta goes with --trust 'two servers', and only there")
    if chosen.is_served:
        check_writable("--out", out, data, public, test, schema)
    elif test is None:
        raise ValueError(
            f"--method {method} leaves participants models of their own, and none to write: --test "
            "FILE, which says what these are worth, is missing"
        )
    if schema is not None:
        check_file(schema, "a schema (TOML)")
    with on_interrupt():
        from tacit.algorithms.public_baseline import load_candidates
        from tacit.cli._fitting import FitRequest, carry_out
        from tacit.data.number_target import Range
        from tacit.data.sample import ColumnRoles

        load_candidates()

    roles = ColumnRoles(
        label,
        owners,
        schema,
        category or (),
        leave_out or (),
        numbers=target == NUMBERS,
        bounds=None if target_range is None else Range(*target_range),
    )
    carry_out(FitRequest(method, options, files, headings, roles, seed=seed), screen)


LEAST_GIVEN_UP = 10  # public rows, with which a model can be chosen


@dataclass(frozen=True)
class FitFiles:
    """Where rows are and where the model goes; `public_rows` of DATA take the place of a file of
    public rows.
    """

    data: Path
    public: Path | None
    public_rows: int | None
    test: Path | None
    out: Path
    written: tuple[str, str] = (".", "utf-8")  # decimal sign and encoding

    def check(self, label: str, owner: str | None) -> dict[Path, Heading | None]:
        """Refuse what cannot be meant, before anything is loaded that reads tables; the headings
        of those that are text.
        """
        if self.public is not None and self.public_rows is not None:
            raise ValueError("--public and --public-rows must not be given together")
        if self.public is None and self.public_rows is None:
            raise ValueError(_NO_PUBLIC.format(data=self.data))
        if self.public_rows is not None:
            whole("--public-rows", self.public_rows, LEAST_GIVEN_UP)
        headings = {
            file: check_table(file, label, column, written=self.written)
            for file, column in ((self.public, None), (self.data, owner), (self.test, None))
            if file is not None
        }
        if self.public is not None and self.data.exists() and self.public.samefile(self.data):
            raise ValueError(
                f"--public must be other rows than those of owners in {self.data}; --public-rows "
                "gives up some"
            )
        self._check_test()
        return headings

    def _check_test(self) -> None:
        """Refuse to measure on what was learned from: of owners' rows that would be exact figures
        which nobody paid for.
        """
        if self.test is None or not self.test.exists():
            return
        for option, files in (("DATA", self.data), ("--public", self.public)):
            among = [] if files is None else [files, *map(Path, glob(str(files)))]
            if any(_holds(each, self.test) for each in among):
                raise ValueError(
                    f"--test {self.test} is also in {option}: give rows that nobody learned from"
                )


def _holds(place: Path, file: Path) -> bool:
    """Whether a file, or a folder of them, has this one."""
    if place.is_dir():
        return file.resolve().is_relative_to(place.resolve())
    return place.exists() and place.samefile(file)
