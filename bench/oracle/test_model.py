#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The window model against vectors computed by hand from the specifications."""

import unittest

import formulas
import model


class Listed:
    """Loses the transmissions with these numbers."""

    def __init__(self, *numbers: int) -> None:
        self.numbers = [*sorted(numbers), model.INFINITY]
        self.next = self.numbers.pop(0)

    def advance(self) -> None:
        self.next = self.numbers.pop(0)


def single(cc, losses, cwnd: int = 20, rtt: float = 0.1) -> model.Subflow:
    """A flow in congestion avoidance with a window in flight."""
    flows: list[model.Subflow] = []
    flow = model.Subflow(rtt, losses, cc, flows, cwnd=cwnd, ssthresh=cwnd)
    flows.append(flow)
    flow.start(0.0)
    return flow


def pair(cc) -> list[model.Subflow]:
    """Windows of 20 and 10 packets on paths of 50 and 100 ms."""
    flows: list[model.Subflow] = []
    for cwnd, rtt in ((20, 0.05), (10, 0.1)):
        flows.append(model.Subflow(rtt, model.Nothing(), cc(), flows, cwnd=cwnd, ssthresh=cwnd))
    return flows


def sends_per_acknowledgement(flow: model.Subflow) -> list[int]:
    """The acknowledgements of the first window, counted from 1, on which a packet leaves, once per packet."""
    sent, count = [], 0
    original = flow.acknowledge

    def recording(*arguments) -> None:
        nonlocal count
        count += 1
        before = flow.transmissions
        original(*arguments)
        sent.extend([count] * (flow.transmissions - before))

    flow.acknowledge = recording
    flow.step()
    return sent


class Increases(unittest.TestCase):
    def test_lia_grows_both_windows_by_what_one_tcp_on_the_best_path_would(self):
        for flow in pair(model.Lia):
            self.assertAlmostEqual(flow.cc.increase(flow), 0.032)

    def test_olia_moves_window_from_the_largest_to_the_best_path(self):
        flows = pair(model.Olia)
        flows[0].una, flows[1].una = 300_000, 1_500_000
        self.assertAlmostEqual(flows[0].cc.increase(flows[0]), 0.007)
        self.assertAlmostEqual(flows[1].cc.increase(flows[1]), 0.054)

    def test_balia_grows_and_shrinks_with_the_ratio_to_the_fastest_path(self):
        flows = pair(model.Balia)
        self.assertAlmostEqual(flows[0].cc.increase(flows[0]), 0.032)
        self.assertAlmostEqual(flows[1].cc.increase(flows[1]), 0.016)
        self.assertAlmostEqual(flows[0].cc.reduce(flows[0]), 10.0)
        self.assertAlmostEqual(flows[1].cc.reduce(flows[1]), 2.5)

    def test_reno_gains_one_packet_per_round_trip(self):
        flow = single(model.Reno(), model.Nothing())
        for _ in range(5):
            flow.step()
        self.assertEqual(flow.cwnd, 25)

    def test_cubic_is_back_at_its_last_maximum_after_k(self):
        cc = model.Cubic(friendly=False)
        cc.w_max = 1000.0
        flow = single(cc, model.Nothing(), cwnd=700)
        while flow.clock < 0.1 + (300 / 0.4) ** (1 / 3):
            flow.step()
        self.assertAlmostEqual(flow.cwnd + flow.fraction, 1000.0, delta=0.5)


class Recovery(unittest.TestCase):
    def test_proportional_rate_reduction_sends_on_every_second_acknowledgement_of_a_halving(self):
        flow = single(model.Reno(), Listed(0))
        self.assertEqual(sends_per_acknowledgement(flow), [1, 2, 3, 5, 7, 9, 11, 13, 15, 17])
        self.assertEqual([run.transmission - 20 for run in flow.flight if run.retransmission], [2])
        self.assertEqual((flow.in_flight, flow.ssthresh, flow.state), (10, 10, model.RECOVERY))

    def test_proportional_rate_reduction_keeps_seven_of_ten_for_cubic(self):
        flow = single(model.Cubic(), Listed(0))
        self.assertEqual(sends_per_acknowledgement(flow), [1, 2, 3, 4, 5, 7, 8, 10, 11, 13, 14, 15, 18, 19])
        self.assertEqual((flow.in_flight, flow.ssthresh), (14, 14))

    def test_two_losses_in_a_window_are_one_loss_event(self):
        flow = single(model.Reno(), Listed(0, 7))
        while flow.clock < 1.0:
            flow.step()
        self.assertEqual((flow.loss_events, flow.timeouts), (1, 0))

    def test_a_retransmission_lost_again_is_repaired_without_another_reduction(self):
        # Transmission 22 is the retransmission, after 20 in flight and two by limited transmit.
        flow = single(model.Reno(), Listed(0, 22))
        while flow.clock < 1.0:
            flow.step()
        self.assertEqual((flow.loss_events, flow.timeouts, flow.ssthresh), (1, 0, 10))
        self.assertGreater(flow.una, 21)

    def test_a_window_lost_with_its_probe_times_out_and_starts_slowly(self):
        flow = single(model.Reno(), Listed(*range(21)))
        while flow.timeouts == 0:
            flow.step()
        self.assertEqual((flow.cwnd, flow.ssthresh), (1, 10))
        windows = {}
        while len(windows) < 6:
            flow.step()
            windows[flow.clock] = flow.cwnd
        self.assertEqual(list(windows.values())[:5], [2, 4, 8, 10, 11])

    def test_a_probe_that_arrives_turns_a_lost_window_into_fast_recovery(self):
        flow = single(model.Reno(), Listed(*range(20)))
        while flow.clock < 2.0:
            flow.step()
        self.assertEqual((flow.loss_events, flow.timeouts), (1, 0))
        self.assertGreater(flow.una, 20)


class Formulas(unittest.TestCase):
    def test_the_windows_of_lia_are_inverse_to_the_losses(self):
        first, second = formulas.equilibrium("lia", [(1e-4, 0.1), (4e-4, 0.1)])
        self.assertAlmostEqual(first / second, 4.0, places=2)

    def test_the_rate_of_lia_is_that_of_one_tcp_on_the_best_path(self):
        windows = formulas.equilibrium("lia", [(1e-4, 0.05), (1e-4, 0.1)])
        self.assertAlmostEqual(windows[0] / 0.05 + windows[1] / 0.1, (2e4) ** 0.5 / 0.05, delta=1.0)


if __name__ == "__main__":
    unittest.main()
