//! A call of an algorithm, and all that it depends on.

use std::sync::Arc;

use braid_algorithms::Spec;
use braid_algorithms::layout::{Event, PUBLIC_WORDS, View};

/// Which algorithm a call was made to.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The algorithm and its parameters.
    pub spec: Spec,
    /// [Hash of the source](braid_algorithms::Algorithm::source_hash) that it was compiled from.
    pub source_hash: u64,
}

impl Origin {
    /// The algorithm of this build.
    pub fn native(spec: Spec) -> Arc<Self> {
        let source_hash = spec.algorithm().source_hash();
        Arc::new(Self { spec, source_hash })
    }
}

impl PartialEq for Origin {
    fn eq(&self, other: &Self) -> bool {
        self.spec.text() == other.spec.text() && self.source_hash == other.source_hash
    }
}

/// One call of a transition.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Of what.
    pub origin: Arc<Origin>,
    /// Number of the call among all that were made while the trace was recorded; numbers that are missing were lost.
    pub sequence: u64,
    /// The processor that made it.
    pub cpu: u32,
    /// When it was made: nanoseconds of the kernel's monotonic clock.
    pub time_ns: u64,
    /// The same for all calls of one subflow's memory, different for others.
    pub socket: u64,
    /// The event.
    pub event: Event,
    /// The connection before the call, public words included.
    pub view: View,
    /// The subflow's private memory before the call.
    pub private: Vec<u64>,
    /// What the call left.
    pub outputs: Outputs,
}

/// All that a transition may write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outputs {
    /// Congestion window, packets.
    pub cwnd: u32,
    /// Slow-start threshold, packets.
    pub ssthresh: u32,
    /// Bytes per second; 0: the host decides.
    pub pacing_rate: u64,
    /// What siblings see.
    pub public_words: [u64; PUBLIC_WORDS],
    /// The private memory.
    pub private: Vec<u64>,
}

impl Outputs {
    /// Those of a view and a private memory that a transition has worked on.
    pub fn of(view: &View, private: &[u64]) -> Self {
        let subflow = &view.subflow[view.self_index as usize];
        Self {
            cwnd: subflow.cwnd,
            ssthresh: subflow.ssthresh,
            pacing_rate: subflow.pacing_rate,
            public_words: subflow.public_words,
            private: private.to_vec(),
        }
    }
}

impl Call {
    /// The view that the call left: nothing but the outputs differs from [`Self::view`].
    pub fn view_after(&self) -> View {
        let mut view = self.view.clone();
        let subflow = &mut view.subflow[view.self_index as usize];
        subflow.cwnd = self.outputs.cwnd;
        subflow.ssthresh = self.outputs.ssthresh;
        subflow.pacing_rate = self.outputs.pacing_rate;
        subflow.public_words = self.outputs.public_words;
        view
    }
}
