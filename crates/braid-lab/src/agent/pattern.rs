//! Data whose content shows its position in the stream.

/// A prime: packets, pieces of memory and buffers are not multiples of it.
const PERIOD: usize = 65_521;
/// Maximum per send or comparison.
const MOST: usize = 1 << 16;

pub(super) struct Pattern(Vec<u8>);

impl Pattern {
    pub(super) fn new() -> Self {
        let mut state = 1_u64;
        let mut byte = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        let mut bytes: Vec<u8> = (0..PERIOD).map(|_| byte()).collect();
        bytes.extend_from_within(..);
        bytes.extend_from_within(..MOST - PERIOD);
        Self(bytes)
    }

    /// The stream from this offset on.
    pub(super) fn at(&self, offset: u64) -> &[u8] {
        &self.0[(offset % PERIOD as u64) as usize..][..MOST]
    }

    /// Position of the first byte that differs from the stream.
    pub(super) fn differs(&self, offset: u64, arrived: &[u8]) -> Option<u64> {
        let parts = self.at(offset).iter().zip(arrived).position(|(own, other)| own != other);
        parts.map(|at| offset + at as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_altered_lost_or_sent_twice_is_noticed() {
        let pattern = Pattern::new();
        let offset = 5 * PERIOD as u64 + 1234;
        let mut bytes = pattern.at(offset)[..3000].to_vec();
        assert_eq!(pattern.differs(offset, &bytes), None);
        bytes[2000] ^= 1;
        assert_eq!(pattern.differs(offset, &bytes), Some(offset + 2000));
        for shift in [1, 1400, 1428, 32_768, 65_536] {
            let late = &pattern.at(offset + shift)[..1400];
            assert!(pattern.differs(offset, late).is_some(), "{shift} bytes");
        }
    }
}
