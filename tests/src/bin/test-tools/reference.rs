//! Writes the generated pages of `docs/reference`: `cargo xtask docs`.

use anyhow::Result;
use convengine_tests::reference;

/// Runs the command.
pub fn run() -> Result<()> {
    let changed = reference::write()?;
    for name in &changed {
        println!("docs/reference/{name} changed");
    }
    println!("{} of {} pages changed", changed.len(), reference::files()?.len());
    Ok(())
}
