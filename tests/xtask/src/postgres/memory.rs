//! Where the clusters of tests are kept.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::sh;

/// The file system in memory of Linux.
const MEMORY: &str = "/dev/shm";

/// The space that the clusters of a run may need. Containers often have 64 MiB.
const NEEDED_BYTES: u64 = 6 << 30;

/// Returns the folder for clusters that need not outlive a run: in memory if there is room, because tests create and delete databases of
/// hundreds of files each.
pub fn folder() -> PathBuf {
    let memory = Path::new(MEMORY);
    let available = sh::output(Command::new("df").args(["--output=avail", "--block-size=1"]).arg(memory));
    if available.is_some_and(|output| parse_available(&output) >= NEEDED_BYTES) { memory.to_owned() } else { std::env::temp_dir() }
}

/// Returns all folders in which clusters of an earlier run may be.
pub fn all_folders() -> [PathBuf; 2] {
    [PathBuf::from(MEMORY), std::env::temp_dir()]
}

/// Reads the number below the heading that `df` prints.
fn parse_available(printed: &str) -> u64 {
    printed.lines().last().and_then(|line| line.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_available_bytes_are_below_a_heading() {
        assert_eq!(parse_available("     Avail\n2470846464\n"), 2_470_846_464);
        assert_eq!(parse_available("Avail\n"), 0);
    }
}
