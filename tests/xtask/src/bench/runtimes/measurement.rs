//! What a turn costs on a runtime: counters of its processes before and after a load.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::super::server::{Load, LoadResult};
use super::super::{Bench, process};
use super::Options;
use super::deployment::{Deployment, Processes};

/// The figures of a runtime. Those of engine, database and Restate are arrays in this order, 0 where there is none.
pub struct Measurement {
    pub load: LoadResult,
    pub cpu_ms: [f64; 3],
    /// Written to the disk.
    pub written_kb: [f64; 3],
    /// The growth of PostgreSQL's log.
    pub wal_kb: Option<f64>,
    /// The growth of the database.
    pub rows_kb: f64,
    pub network_kb: f64,
    pub memory_mb: [f64; 3],
    /// The share of the machine's processor time that was used.
    pub busy_percent: f64,
    /// The share that neither the runtime nor the load used.
    pub others_percent: f64,
}

impl Measurement {
    /// Warms a runtime up, measures it under load, and stops it.
    pub fn take(bench: &Bench<'_>, options: &Options, deployment: Deployment<'_>, pack: &Path) -> Result<Self> {
        let empty_bytes = deployment.database.bytes()?;
        let processes = deployment.processes();
        let mut generator = Load::connect_all(bench, &deployment.servers, pack, options.connections)?;
        let warm_up = generator.play(&format!("seconds:{}", options.warm_up_seconds()))?;
        let read = |generator: &Load| Counters::read(&processes, &deployment, generator);
        let before = read(&generator)?;
        let load = generator.play(&format!("seconds:{}", options.seconds))?;
        let after = read(&generator)?;
        let memory_mb = sum_groups(&processes, process::family_memory_kb)?.map(|it| it as f64 / 1024.0);
        drop(generator);
        let grown = deployment.finish()?.saturating_sub(empty_bytes);
        let per_turn = |before: u64, after: u64| after.saturating_sub(before) as f64 / load.turns as f64;
        let kb_per_turn = |before: u64, after: u64| per_turn(before, after) / 1024.0;
        let of_machine = |us: u64| 100.0 * us as f64 / after.machine.total_us.saturating_sub(before.machine.total_us).max(1) as f64;
        let busy_us = after.machine.busy_us.saturating_sub(before.machine.busy_us);
        let own_us = (after.cpu_us.iter().sum::<u64>() + after.generator_us) - (before.cpu_us.iter().sum::<u64>() + before.generator_us);
        Ok(Self {
            cpu_ms: std::array::from_fn(|at| per_turn(before.cpu_us[at], after.cpu_us[at]) / 1_000.0),
            written_kb: std::array::from_fn(|at| kb_per_turn(before.written_bytes[at], after.written_bytes[at])),
            wal_kb: before.wal_bytes.zip(after.wal_bytes).map(|(before, after)| kb_per_turn(before, after)),
            rows_kb: grown as f64 / 1024.0 / (warm_up.turns + load.turns) as f64,
            network_kb: kb_per_turn(before.network_bytes, after.network_bytes),
            memory_mb,
            busy_percent: of_machine(busy_us),
            others_percent: of_machine(busy_us.saturating_sub(own_us)),
            load,
        })
    }
}

/// What has been used so far.
struct Counters {
    cpu_us: [u64; 3],
    generator_us: u64,
    machine: MachineTime,
    written_bytes: [u64; 3],
    wal_bytes: Option<u64>,
    network_bytes: u64,
}

impl Counters {
    fn read(processes: &Processes, deployment: &Deployment<'_>, generator: &Load) -> Result<Self> {
        Ok(Self {
            cpu_us: sum_groups(processes, process::family_cpu_us)?,
            generator_us: generator.cpu_us()?,
            machine: MachineTime::read()?,
            written_bytes: sum_groups(processes, process::family_written_bytes)?,
            wal_bytes: deployment.database.wal_bytes()?,
            network_bytes: read_loopback_bytes()?,
        })
    }
}

/// Returns the sum of a figure over the processes of each group.
fn sum_groups(processes: &Processes, figure: fn(u32) -> Result<u64>) -> Result<[u64; 3]> {
    let [engine, database, restate] = processes.groups().map(|group| group.iter().map(|process| figure(*process)).sum::<Result<u64>>());
    Ok([engine?, database?, restate?])
}

/// The processor time of the machine since its start.
struct MachineTime {
    total_us: u64,
    busy_us: u64,
}

impl MachineTime {
    fn read() -> Result<Self> {
        let text = fs::read_to_string("/proc/stat")?;
        let line = text.lines().next().and_then(|it| it.strip_prefix("cpu ")).context("cannot read the time of the machine")?;
        // User, nice, system, idle, waiting for the disk, interrupts, software interrupts, stolen by other machines.
        let micros: Vec<u64> =
            line.split_whitespace().take(8).map(|ticks| Ok(ticks.parse::<u64>()? * process::TICK_US)).collect::<Result<_>>()?;
        let total_us = micros.iter().sum();
        let idle: u64 = micros.iter().skip(3).take(2).sum();
        Ok(Self { total_us, busy_us: total_us - idle })
    }
}

/// Returns the bytes that have been sent over loopback since the start of the machine.
fn read_loopback_bytes() -> Result<u64> {
    let text = fs::read_to_string("/proc/net/dev")?;
    let values = text.lines().find_map(|line| line.trim_start().strip_prefix("lo:"));
    values.and_then(|counters| counters.split_whitespace().next()?.parse().ok()).context("cannot read the traffic of loopback")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_has_time_and_traffic() {
        let time = MachineTime::read().unwrap();
        assert!(time.busy_us > 0 && time.busy_us < time.total_us);
        assert!(read_loopback_bytes().is_ok());
    }
}
