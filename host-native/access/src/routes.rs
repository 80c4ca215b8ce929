//! The routes of a tenant. Each route is registered together with the scopes it requires, so that none can be unprotected.

use std::fmt;

use axum::Router;
use axum::http::Method;
use axum::routing::MethodRouter;
use utoipa::openapi::OpenApi;
use utoipa::openapi::path::{PathItem, Paths};
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

use super::scope::Scopes;

/// A route and its access rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The method; absent for all methods.
    pub method: Option<Method>,
    /// The path pattern in router syntax.
    pub path: String,
    /// The scopes of which callers need at least one.
    pub required_scopes: Scopes,
    /// Whether credentials may be in the query string: browsers cannot send headers when they open a stream.
    pub query_credentials: bool,
    /// Who may call it.
    pub access: Access,
}

/// Who may call a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Callers with a key or token that has one of the required scopes.
    Scoped,
    /// The assistants administrator too. Without authentication the route is restricted to local callers.
    Administrator,
    /// As the administrator, and holders of a resume token of a run.
    ResumeToken,
    /// Deployments only, with their token in the header and an allowed origin.
    Deployment,
    /// Deployments of AI agents only, with their token in the path, from [`LINK_PREFIX`] to the next slash.
    DeploymentLink,
    /// Everybody: the handler checks a signature.
    Signature,
}

impl Access {
    /// Whether the administrator's token grants access.
    pub fn is_administrator(self) -> bool {
        matches!(self, Access::Administrator | Access::ResumeToken)
    }
}

/// The path prefix of AI agents for users of a deployment; its token follows.
pub const LINK_PREFIX: &str = "/v1/public/ai-agents/";

/// Routes with their access rules and OpenAPI descriptions, whose handlers share a state.
pub struct Routes<S> {
    router: OpenApiRouter<S>,
    list: Vec<Route>,
}

impl<S> Default for Routes<S>
where
    S: Clone + Send + Sync + 'static,
{
    fn default() -> Self {
        Routes { router: OpenApiRouter::default(), list: Vec::new() }
    }
}

impl<S> fmt::Debug for Routes<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Routes").field(&self.list).finish()
    }
}

impl<S> Routes<S>
where
    S: Clone + Send + Sync + 'static,
{
    /// Adds documented handlers, as collected by `routes!`.
    #[must_use]
    pub fn add(self, needs: Scopes, handlers: UtoipaMethodRouter<S>) -> Self {
        self.push(needs, Access::Scoped, handlers)
    }

    /// Adds documented handlers for the assistants administrator.
    #[must_use]
    pub fn add_admin(self, handlers: UtoipaMethodRouter<S>) -> Self {
        self.push(Scopes::ADMIN, Access::Administrator, handlers)
    }

    /// Adds documented handlers for the people at the desk, and for the assistants administrator.
    #[must_use]
    pub fn add_desk(self, handlers: UtoipaMethodRouter<S>) -> Self {
        self.push(Scopes::DESK, Access::Administrator, handlers)
    }

    /// Adds documented handlers for deployments.
    #[must_use]
    pub fn add_deployment(self, handlers: UtoipaMethodRouter<S>) -> Self {
        self.push(Scopes::CONVERSE, Access::Deployment, handlers)
    }

    /// Adds documented handlers for users of a deployed AI agent.
    #[must_use]
    pub fn add_deployment_link(self, handlers: UtoipaMethodRouter<S>) -> Self {
        self.push(Scopes::CONVERSE, Access::DeploymentLink, handlers)
    }

    /// Adds documented handlers for those who have a resume token of a run, and for the assistants administrator.
    #[must_use]
    pub fn add_resume(self, handlers: UtoipaMethodRouter<S>) -> Self {
        self.push(Scopes::ADMIN, Access::ResumeToken, handlers)
    }

    /// Adds documented handlers that check a signature themselves.
    #[must_use]
    pub fn add_signed(self, handlers: UtoipaMethodRouter<S>) -> Self {
        self.push(Scopes::CONVERSE, Access::Signature, handlers)
    }

    /// Adds documented handlers of event streams.
    #[must_use]
    pub fn add_stream(mut self, handlers: UtoipaMethodRouter<S>) -> Self {
        let before = self.list.len();
        self = self.push(Scopes::LISTEN, Access::Scoped, handlers);
        self.list.iter_mut().skip(before).for_each(|it| it.query_credentials = true);
        self
    }

    fn push(mut self, required_scopes: Scopes, access: Access, handlers: UtoipaMethodRouter<S>) -> Self {
        let documented = documented_methods(&handlers.1);
        self.list.extend(documented.into_iter().map(|(method, path)| Route {
            method: Some(method),
            path,
            required_scopes,
            query_credentials: false,
            access,
        }));
        self.router = self.router.routes(handlers);
        self
    }

    /// Adds an event stream that the OpenAPI document omits.
    #[must_use]
    pub fn add_undocumented_stream(mut self, path: &str, methods: MethodRouter<S>) -> Self {
        let route_path = path.to_owned();
        let route =
            Route { method: None, path: route_path, required_scopes: Scopes::LISTEN, query_credentials: true, access: Access::Scoped };
        self.list.push(route);
        self.router = self.router.route(path, methods);
        self
    }

    /// The OpenAPI document of the routes.
    pub fn openapi(&self) -> OpenApi {
        self.router.get_openapi().clone()
    }

    /// All routes.
    pub fn list(&self) -> &[Route] {
        &self.list
    }

    /// Splits into the router and the access rules of its routes.
    pub fn into_parts(self) -> (Router<S>, Vec<Route>) {
        (self.router.into(), self.list)
    }
}

/// Lists the methods and paths of an OpenAPI document.
fn documented_methods(paths: &Paths) -> Vec<(Method, String)> {
    let of_item = |item: &PathItem| {
        let all = [
            (Method::GET, item.get.is_some()),
            (Method::POST, item.post.is_some()),
            (Method::PUT, item.put.is_some()),
            (Method::PATCH, item.patch.is_some()),
            (Method::DELETE, item.delete.is_some()),
            (Method::OPTIONS, item.options.is_some()),
        ];
        all.into_iter().filter(|operation| operation.1).map(|operation| operation.0)
    };
    paths.paths.iter().flat_map(|(path, item)| of_item(item).map(|method| (method, path.clone()))).collect()
}

/// Finds the route of a request. Returns `None` for paths that are not tenant routes.
pub fn find_route<'r>(routes: &'r [Route], method: &Method, path: &str) -> Option<&'r Route> {
    let method = if *method == Method::HEAD { &Method::GET } else { method };
    let of_path = || routes.iter().filter(|route| matches_pattern(&route.path, path));
    of_path().find(|route| route.method.as_ref().is_none_or(|required| required == method)).or_else(|| of_path().next())
}

/// Whether a path matches a pattern, in which `{name}` matches one segment and `{*name}` the rest.
fn matches_pattern(pattern: &str, path: &str) -> bool {
    // Most routes differ from the path before their first name.
    if pattern.bytes().take_while(|it| *it != b'{').zip(path.bytes()).any(|(expected, found)| expected != found) {
        return false;
    }
    let mut parts = path.split('/');
    for expected in pattern.split('/') {
        let Some(part) = parts.next() else { return false };
        match expected.strip_prefix('{') {
            Some(rest) if rest.starts_with('*') => return !part.is_empty() || parts.next().is_some(),
            Some(_) if !part.is_empty() => {}
            _ if expected == part => {}
            _ => return false,
        }
    }
    parts.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(method: Option<Method>, path: &str, needs: Scopes) -> Route {
        Route { method, path: path.to_owned(), required_scopes: needs, query_credentials: false, access: Access::Scoped }
    }

    #[test]
    fn scopes_depend_on_method_and_path() {
        let routes = [
            route(Some(Method::GET), "/a/{id}", Scopes::READ),
            route(Some(Method::DELETE), "/a/{id}", Scopes::ADMIN),
            route(None, "/b/{id}/{*rest}", Scopes::LISTEN),
        ];
        let needs = |method: Method, path| find_route(&routes, &method, path).map(|route| route.required_scopes);
        assert_eq!(needs(Method::GET, "/a/1"), Some(Scopes::READ));
        assert_eq!(needs(Method::HEAD, "/a/%2F"), Some(Scopes::READ));
        assert_eq!(needs(Method::DELETE, "/a/1"), Some(Scopes::ADMIN));
        assert_eq!(needs(Method::PUT, "/a/1"), Some(Scopes::READ), "callers without the scope learn nothing about methods");
        assert_eq!(needs(Method::PUT, "/b/1/2/3"), Some(Scopes::LISTEN));
        for path in ["/a", "/a/", "/a/1/", "/a/1/2", "/b/1", "/b/1/", "//a/1", "/A/1", "a/1", ""] {
            assert_eq!(needs(Method::GET, path), None, "{path}");
        }
    }
}
