"""Every single bit of a signed question, flipped: all of them must be refused."""

from pathlib import Path

from reliability.campaign import LEARNERS, PRIVATE, Campaign, in_memory, ledger_in, limits
from reliability.finding import Finding
from tacit.owner.gate import Reason, RefusedError

_POLICY = limits(epsilon_per_release=1, epsilon_total=1)


def flips(invitations: int) -> Finding:
    """The experiment, for questions of several learners and mechanisms."""
    campaign = Campaign()
    faults = {"accepted": 0, "refused for another reason than the signature": 0, "charges": 0}
    bits = 0
    with in_memory() as folder:
        gate = campaign.gate(["owner"], _POLICY, ledger_in(Path(folder)))
        for number in range(invitations):
            query = campaign.query(LEARNERS[number % len(LEARNERS)], PRIVATE[number % len(PRIVATE)])
            data = campaign.question(number + 1, query)
            for bit in range(8 * len(data)):
                flipped = bytearray(data)
                flipped[bit // 8] ^= 1 << bit % 8
                bits += 1
                try:
                    gate.answer(bytes(flipped))
                    faults["accepted"] += 1
                except RefusedError as refused:
                    faults["refused for another reason than the signature"] += (
                        refused.reason is not Reason.UNREADABLE
                    )
        faults["charges"] = len(ledger_in(Path(folder)).entries())
        gate.answer(data)  # the last one, as it was signed, is answered
    return Finding(
        "bit flips of signed questions", f"all {bits:,} bits of {invitations} questions", faults
    )
