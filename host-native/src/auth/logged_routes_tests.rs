//! Every route that changes something for an administrator has an entry of the security log, or is listed here.

use axum::http::Method;
use convengine_access::scope::Scopes;
use convengine_access::security_log::is_logged;

use crate::app::tenant_routes;

/// What administrators may do without an entry: work on drafts, talk in the simulator, use runs, and read.
const NOT_LOGGED: [&str; 11] = [
    "/v1/runtime/",
    "/flow",
    "/draft",
    "/validate-publish",
    "/flow/validate-publish",
    "/run",
    "/resume",
    "/cancel",
    "/retry",
    "/analyze",
    "/call",
];

#[test]
fn every_change_of_an_administrator_is_logged() {
    let routes = tenant_routes(true, None);
    let changes = routes.list().iter().filter(|route| route.required_scopes == Scopes::ADMIN && route.method != Some(Method::GET));
    let mut count = 0;
    for route in changes {
        let method = route.method.clone().unwrap_or(Method::POST);
        let is_exempt = NOT_LOGGED.iter().any(|path| route.path.ends_with(path) || route.path.starts_with(path));
        assert_ne!(is_logged(&method, &route.path), is_exempt, "{method} {}", route.path);
        count += usize::from(!is_exempt);
    }
    assert!(count > 20, "{count} logged routes");
}
