//! Numbers for tests that try many inputs: the same in each run.

/// A linear congruential generator.
pub struct Rng(u64);

impl Rng {
    /// Creates one from a seed.
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }
}
