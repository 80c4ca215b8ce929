//! Prints a pack with a configuration of any size: `test-tools synthetic ROWS`. Its turns do not depend on the number of rows.

use anyhow::{Result, bail};
use convengine_tests::synthetic;

/// Runs the command.
pub fn run(words: &[&str]) -> Result<()> {
    let [rows] = words else { bail!("usage: test-tools synthetic ROWS") };
    println!("{}", serde_json::to_string(&synthetic::pack(rows.parse()?)?)?);
    Ok(())
}
