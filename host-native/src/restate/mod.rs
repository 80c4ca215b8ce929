//! The worker of a Restate cluster, and the commands of the cluster.

mod worker;
mod worker_health;

pub use crate::ops::cluster::run as run_cluster_command;
pub use worker::run as run_worker;
