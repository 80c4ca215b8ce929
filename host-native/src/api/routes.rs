//! The routes of a tenant and their access rules.

use std::sync::Arc;

use crate::api::host::Host;

/// Routes whose handlers have the state of a tenant.
pub type Routes = convengine_access::routes::Routes<Arc<Host>>;
