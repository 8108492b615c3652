//! Schedulers whose source is public decide what that source decides, step for step.
//!
//! The expected decisions come from the modules of the out-of-tree MPTCP kernel (v0.96; DAPS from the fork of it where
//! it was published), compiled outside this tree and driven with the same events: RTTs, windows, losses, failures and
//! backup paths change at random, and in each step a segment is new, or reinjected, or blocked by a full receive window
//! or send buffer. A digest covers the chosen path, whether the segment counts as new again, the penalised windows and
//! the opportunistic retransmission.
//!
//! Conventions: a path's index is its place in the module's list, which has the newest subflow first, and Braid's hosts
//! the oldest, so of several equal paths another one is the first. Times are whole jiffies, of 1 ms.
//!
//! Not among the events, with the largest effect:
//! - rr: a reinjection while all paths are full. The module queues it on the last path. It also accepts a packet more
//!   than the window if another is queued already.
//! - redundant: a reinjection that the module forgets and cannot send. A backup path may repeat that segment later.
//! - blest: the module reads the length of no segment if the send buffer is full. Here it is 0.
//! - daps: full paths. The module queues on the path whose turn it is, Braid waits for it: the order of the data is the
//!   same. In a full receive window the module repeats later segments, too; Braid only the oldest, on the fastest path.

use braid_schedulers::layout::{Choice, NO_SSTHRESH, Path, Paths, choice_flags, flags, path_flags};
use braid_schedulers::{Chooser, Event, Spec};

const UP: u32 = path_flags::ESTABLISHED | path_flags::USABLE;

/// xorshift64*.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

/// The data of `redundant`.
#[derive(Default)]
struct Queue {
    una: u32,
    nxt: u32,
    /// Paths that have sent each segment.
    sets: Vec<u32>,
    /// One past the latest segment that each path has sent.
    after: [u32; 8],
}

struct Connection {
    random: Random,
    chooser: Chooser,
    view: Paths,
    is_daps: bool,
    queue: Option<Queue>,
    /// Of `daps`: the window of each path was last averaged.
    averaged_us: [u64; 8],
    has_queues: bool,
    asks_blocked: bool,
}

/// What a step decides, and how the excerpt shows it.
type Decision = (Vec<u32>, String);

impl Connection {
    fn new(spec: &str, n: u32) -> Self {
        let chooser = Chooser::new(&Spec::parse(spec).unwrap());
        let mut random = Random(0x9e37_79b9_7f4a_7c15 + 1);
        let mut view = Paths { n, now_us: 1_000_000, ..Paths::default() };
        for (j, path) in view.path.iter_mut().enumerate().take(n as usize) {
            *path = Path {
                flags: UP | path_flags::MEMORY | path_flags::OPEN,
                mss: 1448 - 28 * j as u32,
                cwnd: 10,
                ssthresh: NO_SSTHRESH,
                mdev_max_us: 200_000,
                srtt_us: 5000 + (random.next() % 200_000) as u32,
                ..Path::default()
            };
        }
        let name = spec.split(':').next().unwrap();
        let mut connection = Self {
            random,
            chooser,
            view,
            is_daps: name == "daps",
            queue: (name == "redundant").then(Queue::default),
            averaged_us: [1_000_000; 8],
            has_queues: !["rr", "daps"].contains(&name),
            asks_blocked: !["rr", "redundant"].contains(&name),
        };
        for j in 0..n {
            connection.view.self_index = j;
            connection.chooser.deliver(Event::Join, &connection.view);
            connection.chooser.deliver(Event::Rtt, &connection.view);
        }
        connection
    }

    fn paths(&self) -> std::ops::Range<usize> {
        0..self.view.n as usize
    }

    /// Paths that can send now.
    fn ready(&self, j: usize) -> bool {
        let all = path_flags::USABLE | path_flags::ROOM | path_flags::LOSS;
        self.view.path[j].flags & all == path_flags::USABLE | path_flags::ROOM
    }

    fn is_regular(&self, j: usize) -> bool {
        self.view.path[j].flags & path_flags::BACKUP == 0
    }

    /// Whether a path that is no backup is usable, if at times full.
    fn has_regular(&self) -> bool {
        self.paths().any(|j| self.view.path[j].flags & path_flags::USABLE != 0 && self.is_regular(j))
    }

    fn step(&mut self) -> Decision {
        self.view.now_us += 1000 * (1 + self.random.next() % 4);
        let draw = self.random.next();
        let i = (draw % u64::from(self.view.n)) as usize;
        let kind = (draw >> 8) % 16;
        self.change(i, kind, draw >> 16);
        for j in self.paths() {
            let draw = self.random.next();
            let path = &mut self.view.path[j];
            let in_flight = (draw % u64::from(path.cwnd + 1 + path.cwnd / 2)) as u32;
            path.in_flight = if self.is_daps { 0 } else { in_flight };
            path.queued = if self.has_queues { ((draw >> 32) % 3) as u32 } else { 0 };
            path.flags &= !path_flags::ROOM;
            if path.flags & path_flags::ESTABLISHED != 0 && path.in_flight + path.queued < path.cwnd {
                path.flags |= path_flags::ROOM;
            }
        }
        let able = self.view.path[i].flags & (path_flags::USABLE | path_flags::LOSS) == path_flags::USABLE;
        let passed_us = self.view.now_us - self.averaged_us[i];
        let averages = self.is_daps
            && (10..12).contains(&kind)
            && able
            && passed_us >= u64::from(self.view.path[i].srtt_us);
        let average = averages.then_some(i);
        let draw = self.random.next();
        let (what, rest) = (draw % 8, draw >> 8);
        let mask = (self.random.next() % (1 << self.view.n)) as u32;
        self.view.window = rest % (1 << 20);
        self.view.window_left = self.view.window;
        self.view.unassigned = (rest >> 20) % (1 << 20);
        self.view.segment = 1 + ((rest >> 40) % 1300) as u32;
        (self.view.flags, self.view.carriers, self.view.head_carriers) = (0, 0, 0);
        self.acknowledge(what, rest);
        if (1..3).contains(&what) && self.asks_blocked {
            self.blocked(what == 1, rest % 2 == 1, mask, average)
        } else {
            self.choose(what == 0, (what != 5, rest), mask, average)
        }
    }

    fn change(&mut self, i: usize, kind: u64, rest: u64) {
        let path = &mut self.view.path[i];
        let usually = |condition: bool, flag: u32| if condition { flag } else { 0 };
        match kind {
            0 | 1 => path.srtt_us = 5000 + (rest % 200_000) as u32,
            2 => path.cwnd = 1 + (rest % 100) as u32,
            3 if rest.is_multiple_of(4) => path.ssthresh = NO_SSTHRESH,
            3 => path.ssthresh = 2 + (rest / 4 % 100) as u32,
            4 => {
                path.flags &= !path_flags::BACKUP;
                path.flags |= usually(rest.is_multiple_of(8), path_flags::BACKUP);
            }
            5 => {
                path.flags &= !path_flags::USABLE;
                let is_up = path.flags & path_flags::ESTABLISHED != 0 && !rest.is_multiple_of(8);
                path.flags |= usually(is_up, path_flags::USABLE);
            }
            6 => {
                path.flags &= !UP;
                path.flags |= usually(!rest.is_multiple_of(8), UP);
            }
            7 => {
                path.flags &= !(path_flags::LOSS | path_flags::OPEN);
                path.flags |= if rest.is_multiple_of(8) { path_flags::LOSS } else { path_flags::OPEN };
            }
            8 => {
                path.flags &= !(path_flags::LOSS | path_flags::OPEN);
                path.flags |= usually(!rest.is_multiple_of(4), path_flags::OPEN);
            }
            9 => path.mdev_max_us = 200_000 + (rest % 400_000) as u32,
            _ => {}
        }
    }

    /// The receiver has got some of the data of `redundant`.
    fn acknowledge(&mut self, what: u64, rest: u64) {
        let Some(queue) = &mut self.queue else { return };
        if what == 3 && queue.nxt > queue.una {
            queue.una += 1 + (rest % u64::from(queue.nxt - queue.una)) as u32;
        }
        if what == 4 || queue.nxt - queue.una > 60 {
            queue.una += (queue.nxt - queue.una) / 2;
        }
        for j in 0..self.view.n as usize {
            self.view.path[j].behind = queue.nxt - queue.after[j].max(queue.una);
        }
    }

    fn deliver(&mut self, event: Event, average: Option<usize>) -> Choice {
        if let Some(i) = average {
            self.chooser.deliver(Event::Rtt, &Paths { self_index: i as u32, ..self.view });
            self.averaged_us[i] = self.view.now_us;
        }
        self.chooser.deliver(event, &self.view)
    }

    fn blocked(&mut self, by_window: bool, has_left: bool, head: u32, average: Option<usize>) -> Decision {
        let spares_backups = self.has_regular() && !self.is_daps;
        let fastest = self
            .paths()
            .filter(|&j| self.ready(j) && (self.is_regular(j) || !spares_backups))
            .min_by_key(|&j| self.view.path[j].srtt_us);
        let Some(fastest) = fastest.filter(|_| by_window || !self.is_daps) else {
            return (Vec::new(), "-".to_owned());
        };
        self.view.flags = if by_window { flags::WINDOW_BLOCKED } else { flags::MEMORY_BLOCKED };
        self.view.flags |= if has_left { flags::MEMORY_LEFT } else { 0 };
        if by_window {
            self.view.flags &= !flags::MEMORY_LEFT;
        } else {
            self.view.segment = 0;
        }
        self.view.head_carriers = head;
        self.view.self_index = fastest as u32;
        let choice = self.deliver(Event::Blocked, average);
        let resends = choice.flags & choice_flags::RESEND_HEAD != 0;
        let mut shown = if resends { "r".to_owned() } else { "b".to_owned() };
        let mut values = Vec::new();
        for j in self.paths() {
            let path = &mut self.view.path[j];
            let changed = |new: u32, old: u32| if new == old { 0 } else { new };
            let (cwnd, ssthresh) =
                (changed(choice.cwnd[j], path.cwnd), changed(choice.ssthresh[j], path.ssthresh));
            values.extend([cwnd, ssthresh]);
            if cwnd > 0 {
                path.cwnd = cwnd;
                shown += &j.to_string();
            }
            if ssthresh > 0 {
                path.ssthresh = ssthresh;
            }
        }
        values.push(u32::from(resends));
        (values, shown)
    }

    fn choose(
        &mut self,
        is_again: bool,
        (has_new, rest): (bool, u64),
        mask: u32,
        average: Option<usize>,
    ) -> Decision {
        let (mut is_again, mut mask, mut dsn) = (is_again, mask, 0);
        self.view.flags = flags::NEW_DATA;
        if let Some(queue) = &self.queue {
            let can = self.paths().any(|j| self.ready(j) && self.is_regular(j)) || !self.has_regular();
            is_again &= can && queue.nxt > queue.una;
            if is_again {
                dsn = queue.una + (rest % u64::from(queue.nxt - queue.una)) as u32;
                mask = queue.sets[dsn as usize];
            } else if !has_new {
                self.view.flags = 0;
            }
        }
        if is_again {
            self.view.flags = flags::REINJECTION;
            self.view.carriers = mask;
        }
        if !self.paths().any(|j| self.ready(j)) {
            return (Vec::new(), "-".to_owned());
        }
        let choice = self.deliver(Event::Choose, average);
        let forgets = is_again && mask != 0 && choice.flags & choice_flags::FORGET != 0;
        let shown = choice.path().map_or("w".to_owned(), |path| path.to_string());
        let mut values = vec![choice.path().unwrap_or(8) as u32, u32::from(forgets)];
        if let Some(queue) = &mut self.queue {
            if is_again {
                let set = &mut queue.sets[dsn as usize];
                *set = if forgets { 0 } else { *set } | choice.paths;
            } else {
                values.push(queue.send(&choice));
            }
        }
        (values, shown)
    }
}

impl Queue {
    /// Sends what the decision says. Returns its distance from the oldest unacknowledged segment.
    fn send(&mut self, choice: &Choice) -> u32 {
        let Some(path) = choice.path() else { return 0 };
        let is_copy = choice.flags & choice_flags::COPY != 0;
        let dsn = if is_copy { self.after[path].max(self.una) } else { self.nxt };
        if dsn == self.nxt {
            self.sets.push(0);
            self.nxt += 1;
        }
        self.sets[dsn as usize] |= choice.paths;
        self.after[path] = dsn + 1;
        dsn - self.una
    }
}

/// The digest of 100,000 steps, and the decisions after the thousandth and at the end: the path, or `w`: none; a blocked
/// window with (`r`) or without (`b`) a retransmission and the penalised paths; `-`: all are full.
fn run(spec: &str, n: u32) -> (u64, String) {
    let mut connection = Connection::new(spec, n);
    let (mut digest, mut shown) = (0xcbf2_9ce4_8422_2325_u64, [const { Vec::new() }; 2]);
    for step in 0..100_000 {
        let (values, text) = connection.step();
        for byte in values.iter().flat_map(|value| value.to_le_bytes()) {
            digest = (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        if (1000..1016).contains(&step) {
            shown[0].push(text);
        } else if step >= 99_984 {
            shown[1].push(text);
        }
    }
    (digest, shown.map(|part| part.join(" ")).join(", "))
}

#[test]
#[allow(clippy::too_many_lines, reason = "a table")]
fn decisions_are_those_of_the_public_source_in_every_step() {
    for (spec, n, expected, shown) in [
        (
            "minrtt",
            2,
            0xe38f_ede7_ea9e_3aae,
            "- 0 0 - - - 0 0 - - 0 b - - - -, 0 1 b b 0 - 0 0 0 0 0 0 0 1 0 0",
        ),
        (
            "minrtt",
            3,
            0x0ba5_cbc2_b4fb_898f,
            "0 - 1 1 b 0 1 1 1 1 0 - b - b1 0, 2 2 2 0 2 b 2 b b0 2 - - 2 b 0 b",
        ),
        (
            "minrtt",
            4,
            0xdbce_82bf_459c_e91b,
            "3 2 b - 3 2 3 3 2 0 2 - b 2 2 b, 3 3 3 w 3 3 b - 3 3 - - 3 - 3 3",
        ),
        (
            "redundant",
            2,
            0x660f_d355_25d6_00ec,
            "- 0 0 - - - 0 0 - - 0 0 - - - -, 1 1 0 - w - 1 0 w 0 1 w 0 1 w 0",
        ),
        (
            "redundant",
            3,
            0x126f_76ff_8a00_901a,
            "0 - 1 0 0 0 1 0 1 0 1 - 1 - 0 w, 2 2 0 0 w 0 2 2 0 2 - 0 2 0 2 0",
        ),
        (
            "redundant",
            4,
            0x8b4b_1fbe_ff11_f362,
            "2 2 3 - w 2 0 3 0 3 2 2 2 0 - 2, 2 3 2 w w 3 2 2 3 w 1 2 1 2 3 3",
        ),
        (
            "rr:backups=fork",
            2,
            0x2a68_399a_6ae1_7e55,
            "- 0 0 - - - 0 0 - - 0 0 - - - -, 1 1 0 - 1 - 0 0 0 0 1 0 1 1 0 1",
        ),
        (
            "rr:backups=fork",
            3,
            0x4d70_e899_538b_7995,
            "0 - 1 1 0 0 1 1 1 0 1 - 1 - 0 0, 2 2 2 0 2 0 2 2 0 2 - 0 2 2 0 2",
        ),
        (
            "rr:backups=fork",
            4,
            0xc153_2a63_c27e_8125,
            "3 2 3 - 2 2 3 3 2 0 2 2 2 0 - 2, 2 1 3 1 2 3 2 1 3 2 2 1 3 2 3 2",
        ),
        (
            "rr:backups=fork:segments=3",
            2,
            0xd5cb_6591_6dc9_6eb4,
            "- 0 0 - - - 0 0 - - 0 0 - - - -, 1 1 0 - 0 - 0 0 0 0 1 1 1 1 1 1",
        ),
        (
            "rr:backups=fork:segments=3",
            3,
            0xfa7f_7b08_7684_5096,
            "0 - 1 0 0 0 1 0 1 1 1 - 1 - 1 0, 2 2 2 0 0 0 2 2 2 2 - 0 2 0 0 2",
        ),
        (
            "rr:backups=fork:segments=3",
            4,
            0x1738_042b_72b0_1ec5,
            "3 2 2 - 2 2 3 2 2 0 2 2 2 0 - 0, 1 1 1 1 3 1 1 2 2 2 2 2 3 2 2 3",
        ),
        (
            "rr:backups=fork:limited=off",
            2,
            0x9769_17d3_2bfd_31fd,
            "- 0 0 - - - 0 0 - - 0 0 - - - -, 0 1 0 - 1 - 0 w w w 1 0 1 w 0 1",
        ),
        (
            "rr:backups=fork:limited=off",
            3,
            0x4406_c10a_a8ab_6215,
            "w - 1 0 w w 1 0 1 0 1 - w - 0 w, 2 2 2 0 2 0 2 w 0 2 - 0 2 0 2 0",
        ),
        (
            "rr:backups=fork:limited=off",
            4,
            0x69df_5054_eeb6_3885,
            "2 w w - w w 3 0 w 0 2 w w 0 - 2, 3 2 1 w 3 2 1 w 3 2 2 1 3 w 3 2",
        ),
        (
            "ecf:arithmetic=fork:sigma=linux",
            2,
            0xec59_9e4a_a2b5_b3a6,
            "- 0 0 - - - 0 0 - - 0 b - - - -, 0 1 b b 0 - 0 0 0 0 0 0 0 1 0 0",
        ),
        (
            "ecf:arithmetic=fork:sigma=linux",
            3,
            0x255b_371a_9dbf_2bdd,
            "0 - 1 1 b 0 1 1 1 1 0 - b - b1 0, 2 w 2 0 2 b 2 b b0 2 - - 2 b 0 b",
        ),
        (
            "ecf:arithmetic=fork:sigma=linux",
            4,
            0xf708_f64d_ac70_d073,
            "3 2 b - 3 2 3 3 2 0 2 - b w 2 b, 3 3 3 w 3 3 b - 3 3 - - w - w w",
        ),
        (
            "blest:arithmetic=fork",
            2,
            0x917d_c666_17ef_9c5f,
            "- 0 0 - - - 0 0 - - 0 b - - - -, 0 1 b b 0 - 0 0 0 0 0 0 0 w 0 0",
        ),
        (
            "blest:arithmetic=fork",
            3,
            0x5a82_04d2_4926_ed6d,
            "w - 1 1 b 0 1 1 1 1 0 - b - b1 0, 2 2 2 0 2 b 2 b b0 2 - - 2 b 0 b",
        ),
        (
            "blest:arithmetic=fork",
            4,
            0xc249_e800_1c48_50fa,
            "3 2 b - 3 2 3 3 2 0 2 - b 2 2 b, 3 3 3 w w 3 b - w 3 - - w - 3 3",
        ),
        (
            "daps:clock=us",
            2,
            0xcf94_c4b5_403d_10f4,
            "0 0 0 - - - 0 0 0 0 0 - b - 0 0, 0 1 b r 1 b 1 1 1 1 1 1 1 1 0 0",
        ),
        (
            "daps:clock=us",
            3,
            0x59d8_b25c_0b31_4557,
            "0 0 0 0 r 0 0 0 0 0 0 - b 0 b 0, 0 0 0 2 2 - 2 - r 2 2 2 2 b 2 -",
        ),
        (
            "daps:clock=us",
            4,
            0xf69c_e295_a487_a4b7,
            "0 2 - 2 2 2 2 2 2 2 2 2 - 0 0 b, 3 3 3 3 3 3 - - 3 3 3 1 1 2 2 2",
        ),
    ] {
        let (digest, decisions) = run(spec, n);
        assert_eq!(decisions, shown, "{spec} with {n} paths, steps 1001 to 1016 and the last 16");
        assert_eq!(digest, expected, "{spec} with {n} paths: decisions in between");
    }
}
