//! What the system says about a process.

use std::fs;

use anyhow::{Context, Result};

/// Microseconds of one tick in `/proc`.
const TICK: u64 = 10_000;

/// Processor time of a process so far, in microseconds.
///
/// # Errors
/// When there is no such process.
pub fn cpu_us(process: u32) -> Result<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name, in parentheses, may hold blanks; user and system time are fields 14 and 15 of the line.
    let fields: Vec<&str> = stat.rsplit_once(')').map_or("", |it| it.1).split_whitespace().collect();
    let ticks = |index: usize| fields.get(index).and_then(|it| it.parse::<u64>().ok()).context("cannot read the processor time");
    Ok((ticks(11)? + ticks(12)?) * TICK)
}

/// Resident memory of a process, in KB.
///
/// # Errors
/// When there is no such process.
pub fn resident_kb(process: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|it| it.strip_prefix("VmRSS:")).context("cannot read the resident memory")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

/// How much a value grows from the first to the last point of a line through all points, by least squares.
#[must_use]
pub fn growth(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|it| it.0), mean(|it| it.1));
    let spread: f64 = points.iter().map(|it| (it.0 - x) * (it.0 - x)).sum();
    let both: f64 = points.iter().map(|it| (it.0 - x) * (it.1 - y)).sum();
    let (first, last) = (points.first().map_or(0.0, |it| it.0), points.last().map_or(0.0, |it| it.0));
    if spread > 0.0 { both / spread * (last - first) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_grows_by_its_slope_and_a_flat_one_does_not() {
        let line = |slope: f64| (0..9).map(|it| (f64::from(it), 5.0 + slope * f64::from(it))).collect::<Vec<_>>();
        assert!((growth(&line(2.0)) - 16.0).abs() < 1e-9);
        assert!(growth(&line(0.0)).abs() < 1e-9);
        assert!(growth(&[]).abs() < 1e-9);
    }

    #[test]
    fn this_process_has_memory_and_takes_time() {
        let own = std::process::id();
        assert!(resident_kb(own).unwrap() > 100);
        assert!(cpu_us(own).is_ok() && cpu_us(u32::MAX).is_err());
    }
}
