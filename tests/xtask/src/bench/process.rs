//! Processor time and memory of processes, from `/proc`.

use std::fs;

use anyhow::{Context, Result};

/// The length of a clock tick in `/proc`, in microseconds.
const TICK_US: u64 = 10_000;

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
    for entry in fs::read_dir("/proc")? {
        let id = entry?.file_name().to_str().and_then(|it| it.parse().ok());
        // A process may end at any time; from then on it is among the ended children.
        let Some(stat) = id.and_then(|it| Stat::read(it).ok()) else { continue };
        if stat.number(PARENT)? == u64::from(process) {
            sum += stat.micros(OWN_TIME)?;
        }
    }
    Ok(sum)
}

/// Returns the resident memory of a process, in KB.
pub fn resident_kb(process: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|it| it.strip_prefix("VmRSS:")).context("cannot read the resident memory")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
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
        self.0.get(field).and_then(|it| it.parse().ok()).context("cannot read the state of a process")
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
        drop(child.stdin.take());
        child.wait().unwrap();
        // Tests run beside this one, so time passes between the two figures.
        let own = cpu_us(std::process::id()).unwrap();
        assert!(family_cpu_us(std::process::id()).unwrap() >= own);
        assert!(cpu_us(u32::MAX).is_err());
    }
}
