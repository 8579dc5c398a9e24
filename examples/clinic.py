"""Play the baselines on the simulated clinic and print what each of them reads, loses, regrets.

A patient has 42 tests; 8 may be done; the yardstick is the best linear model of 4 tests that saw
every test of every patient.
"""

from __future__ import annotations

import keyhole as kh

SPARSITY, BUDGET, PATIENTS = 4, 8, 4000


def main() -> None:
    """Play and print."""
    stream, _ = kh.streams.clinic(PATIENTS, seed=0)
    problem = kh.Problem(d=stream.d, k=SPARSITY, budget=BUDGET, names=stream.names)
    everything = kh.Problem(d=stream.d, k=SPARSITY, budget=stream.d, names=stream.names)

    print(f"{PATIENTS:,} patients, {stream.d} tests each; {BUDGET} may be done per patient.\n")
    best = kh.hindsight(stream, SPARSITY, intercept=True)
    players: dict[str, kh.Learner] = {
        "mean of the labels so far": kh.RunningMean(problem),
        "last label": kh.LastValue(problem),
        f"{BUDGET} random tests": kh.RandomSubset(problem, seed=1),
        f"best {SPARSITY} tests, told in advance": kh.FixedSubset(problem, support=best.support),
        "every test (full information)": kh.FullInformation(everything),
    }
    header = f"{'learner':<32} {'tests read':>10} {'of':>3} {'mean loss':>10} {'R2':>6}  regret"
    print(header)
    print("-" * len(header))
    for name, learner in players.items():
        ledger = kh.play(learner, stream, progress=kh.ProgressLine(stream.rounds))
        r2 = 1 - ledger.loss / best.empty_loss
        regret = kh.regret(ledger, best)
        print(
            f"{name:<32} {ledger.mean_reads:>10.1f} {stream.d:>3} {ledger.mean_loss:>10.3f} "
            f"{r2:>6.3f}  {regret}"
        )
    print(f"\nBest {SPARSITY} tests in hindsight (R2 {best.r2:.3f}; {best.loss.how}):")
    for j in best.support:
        print(f"  {problem.label(j):<24} {best.weights[j]:+.4g} days per unit")


if __name__ == "__main__":
    main()
