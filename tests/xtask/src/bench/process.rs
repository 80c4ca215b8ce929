//! Processor time, memory and writes of processes, from `/proc`.

use std::fs;

use anyhow::{Context, Result};

/// The length of a clock tick in `/proc`, in microseconds.
pub const TICK_US: u64 = 10_000;

/// The fields of `/proc/PID/stat`, counted from the first after the name.
const PARENT: usize = 1;
const OWN_TIME: [usize; 2] = [11, 12];
const ENDED_CHILDREN_TIME: [usize; 2] = [13, 14];

/// Returns the processor time of a process so far, in microseconds.
pub fn cpu_us(process: u32) -> Result<u64> {
    Stat::read(process)?.micros(OWN_TIME)
}

/// Returns the processor time of a process and its children so far, in microseconds, including children that have ended.
pub fn family_cpu_us(process: u32) -> Result<u64> {
    let own = Stat::read(process)?;
    let mut sum = own.micros(OWN_TIME)? + own.micros(ENDED_CHILDREN_TIME)?;
    for (_, child) in living_children(process)? {
        sum += child.micros(OWN_TIME)?;
    }
    Ok(sum)
}

/// Returns the bytes that a process and its children have written to the disk so far, including children that have ended.
pub fn family_written_bytes(process: u32) -> Result<u64> {
    let written = |process| read_value(process, "io", "write_bytes:");
    // The kernel adds those of a child that has ended to its parent's.
    let own = written(process)?;
    Ok(own + living_children(process)?.iter().filter_map(|child| written(child.0).ok()).sum::<u64>())
}

/// Returns the memory of a process and its children, in KB. Memory that several processes share is divided among them.
pub fn family_memory_kb(process: u32) -> Result<u64> {
    let memory = |process| read_value(process, "smaps_rollup", "Pss:");
    let own = memory(process)?;
    Ok(own + living_children(process)?.iter().filter_map(|child| memory(child.0).ok()).sum::<u64>())
}

/// Returns the children of a process, each with its state.
fn living_children(process: u32) -> Result<Vec<(u32, Stat)>> {
    let mut children = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let id = entry?.file_name().to_str().and_then(|name| name.parse().ok());
        // A process may end at any time; from then on it is among the ended children.
        let Some((id, stat)) = id.and_then(|id| Some((id, Stat::read(id).ok()?))) else { continue };
        if stat.number(PARENT)? == u64::from(process) {
            children.push((id, stat));
        }
    }
    Ok(children)
}

/// Returns the resident memory of a process, in KB.
pub fn resident_kb(process: u32) -> Result<u64> {
    read_value(process, "status", "VmRSS:")
}

/// Returns a value of one of the files of a process, whose lines are a label, a number and sometimes a unit.
fn read_value(process: u32, file: &str, label: &str) -> Result<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/{file}")).with_context(|| format!("cannot read '{file}' of a process"))?;
    let value = text.lines().find_map(|it| it.strip_prefix(label)).and_then(|rest| rest.split_whitespace().next());
    Ok(value.with_context(|| format!("no '{label}' in '{file}' of a process"))?.parse()?)
}

struct Stat(Vec<String>);

impl Stat {
    fn read(process: u32) -> Result<Stat> {
        let line = fs::read_to_string(format!("/proc/{process}/stat"))?;
        // The name, in parentheses, may contain spaces.
        let (_, fields) = line.rsplit_once(')').context("no name in the state of a process")?;
        Ok(Stat(fields.split_whitespace().map(str::to_owned).collect()))
    }

    fn number(&self, field: usize) -> Result<u64> {
        self.0.get(field).and_then(|text| text.parse().ok()).context("cannot read the state of a process")
    }

    fn micros(&self, fields: [usize; 2]) -> Result<u64> {
        let [user, system] = fields;
        Ok((self.number(user)? + self.number(system)?) * TICK_US)
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_family_includes_its_children() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        assert_eq!(Stat::read(child.id()).unwrap().number(PARENT).unwrap(), u64::from(std::process::id()));
        assert!(resident_kb(child.id()).unwrap() > 0);
        assert!(family_memory_kb(std::process::id()).unwrap() > family_memory_kb(child.id()).unwrap());
        assert!(family_written_bytes(std::process::id()).is_ok());
        drop(child.stdin.take());
        child.wait().unwrap();
        // Tests run beside this one, so time passes between the two figures.
        let own = cpu_us(std::process::id()).unwrap();
        assert!(family_cpu_us(std::process::id()).unwrap() >= own);
        assert!(cpu_us(u32::MAX).is_err());
    }
}
