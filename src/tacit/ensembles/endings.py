"""How many rounds there were, in words."""


def rounds_in_words(number: int) -> str:
    """A number of rounds.

    >>> rounds_in_words(1), rounds_in_words(2)
    ('1 round', '2 rounds')
    """
    return f"{number} round{'' if number == 1 else 's'}"


def all_rounds(number: int) -> str:
    """Why an algorithm ended that did all it was told to do.

    >>> all_rounds(1), all_rounds(2)
    ('1 round', 'all 2 rounds')
    """
    return rounds_in_words(number) if number == 1 else f"all {rounds_in_words(number)}"
