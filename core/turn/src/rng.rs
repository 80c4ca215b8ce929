//! The turn's seeded random generator (SplitMix64) and ids derived from it.

/// A small generator; the same seed gives the same numbers on every platform. Not for secrets: who sees two numbers knows the next.
///
/// ```
/// use convengine_turn::{Rng, uuid_from_seed};
///
/// assert_eq!(Rng::new(7).next_u64(), Rng::new(7).next_u64());
/// assert_ne!(uuid_from_seed(7), uuid_from_seed(8));
/// ```
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    /// Creates a generator from a seed.
    pub fn new(seed: u64) -> Self {
        Rng(seed)
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Returns a version 4 UUID in lower case for a seed.
pub fn uuid_from_seed(seed: u64) -> String {
    let mut rng = Rng::new(seed);
    let high = (rng.next_u64() & 0xffff_ffff_ffff_0fff) | 0x4000;
    let low = (rng.next_u64() & 0x3fff_ffff_ffff_ffff) | 0x8000_0000_0000_0000;
    format!("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xffff, high & 0xffff, low >> 48, low & 0xffff_ffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_uuid_of_version_4() {
        let id = uuid_from_seed(7);
        assert_eq!(id, uuid_from_seed(7));
        assert_ne!(id, uuid_from_seed(8));
        assert_eq!(id.len(), 36);
        assert_eq!(id.chars().nth(14), Some('4'));
    }
}
