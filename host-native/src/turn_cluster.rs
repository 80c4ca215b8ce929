//! The cluster that runs the turns, where the program is built with Restate.

use convengine_host_base::exit::Failure;
use convengine_settings::Settings;
use convengine_turns::TurnCluster;

/// Returns the cluster of a tenant's settings, if they name one.
///
/// # Errors
/// Returns exit code 3 when no HTTP client can be created.
#[cfg(feature = "restate")]
pub fn find_cluster(settings: &Settings) -> Result<Option<Box<dyn TurnCluster>>, Failure> {
    convengine_restate::find_cluster(settings)
}

/// Returns no cluster.
///
/// # Errors
/// Returns exit code 2 when the settings name one.
#[cfg(not(feature = "restate"))]
pub fn find_cluster(settings: &Settings) -> Result<Option<Box<dyn TurnCluster>>, Failure> {
    let is_named = settings.runtime == convengine_settings::Runtime::Restate || !settings.restate.ingress.is_empty();
    if is_named { Err(missing_restate()) } else { Ok(None) }
}

/// Returns the failure of a program that is built without Restate.
#[cfg(not(feature = "restate"))]
pub fn missing_restate() -> Failure {
    Failure::invalid_usage("this program is built without Restate; build it with the feature 'restate'")
}
