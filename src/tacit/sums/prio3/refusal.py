"""What is not accepted: a measurement that is none, a message of a wrong size or with elements
above the modulus.
"""


class NotValidError(ValueError):
    """Raised for data from outside; programming errors are other exceptions, so that a test cannot
    mistake one.
    """
