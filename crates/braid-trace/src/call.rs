//! A call of an algorithm with all its inputs.

use std::sync::Arc;

use braid_algorithms::Spec;
use braid_algorithms::layout::{Event, PUBLIC_WORDS, View};
use serde::{Deserialize, Serialize};

use crate::hex::{word, words};

/// The algorithm of a call.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The algorithm and its parameters.
    pub spec: Spec,
    /// [Hash of the source](braid_algorithms::Algorithm::source_hash) of that build.
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
    /// Its algorithm.
    pub origin: Arc<Origin>,
    /// Number of the call among all during the recording; missing numbers were lost.
    pub sequence: u64,
    /// The processor that made it.
    pub cpu: u32,
    /// Time of the call: nanoseconds of the kernel's monotonic clock.
    pub time_ns: u64,
    /// Equal for all calls with one subflow's memory, different for others.
    pub socket: u64,
    /// The event.
    pub event: Event,
    /// The connection before the call, including public words.
    pub view: View,
    /// The subflow's private memory before the call.
    pub private: Vec<u64>,
    /// Result of the call.
    pub outputs: Outputs,
}

/// Everything that a transition may write.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outputs {
    /// Congestion window, packets.
    pub cwnd: u32,
    /// Slow-start threshold, packets.
    pub ssthresh: u32,
    /// Bytes per second; 0: the host decides.
    #[serde(with = "word")]
    pub pacing_rate: u64,
    /// Public words.
    #[serde(with = "words")]
    pub public_words: [u64; PUBLIC_WORDS],
    /// The private memory.
    #[serde(with = "words")]
    pub private: Vec<u64>,
}

impl Outputs {
    /// The outputs in a view and a private memory after a transition.
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
    /// The view after the call: only the outputs differ from [`Self::view`].
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
