//! Processor time and memory of a process, from `/proc`.

use std::fs;

use anyhow::{Context, Result};

/// The length of a clock tick in `/proc`, in microseconds.
const TICK_US: u64 = 10_000;

/// Returns the processor time of a process so far, in microseconds.
///
/// # Errors
/// If the process does not exist.
pub fn cpu_us(process: u32) -> Result<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name, in parentheses, may contain spaces; user and system time are fields 14 and 15 of the line.
    let fields: Vec<&str> = stat.rsplit_once(')').map_or("", |it| it.1).split_whitespace().collect();
    let ticks = |index: usize| fields.get(index).and_then(|field| field.parse::<u64>().ok()).context("cannot read the processor time");
    Ok((ticks(11)? + ticks(12)?) * TICK_US)
}

/// Returns the resident memory of a process, in KB.
///
/// # Errors
/// If the process does not exist.
pub fn resident_kb(process: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|it| it.strip_prefix("VmRSS:")).context("cannot read the resident memory")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

/// Returns the growth of a value from the first to the last point, along the least-squares line through all points.
#[must_use]
pub fn growth(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let mean = |coordinate: fn(&(f64, f64)) -> f64| points.iter().map(coordinate).sum::<f64>() / count;
    let (x, y) = (mean(|it| it.0), mean(|it| it.1));
    let variance: f64 = points.iter().map(|point| (point.0 - x) * (point.0 - x)).sum();
    let covariance: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let (first, last) = (points.first().map_or(0.0, |it| it.0), points.last().map_or(0.0, |it| it.0));
    if variance > 0.0 { covariance / variance * (last - first) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_grows_by_its_slope_and_a_flat_one_does_not() {
        let line = |slope: f64| (0..9).map(|x| (f64::from(x), 5.0 + slope * f64::from(x))).collect::<Vec<_>>();
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
