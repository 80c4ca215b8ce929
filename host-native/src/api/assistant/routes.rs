//! The routes of assistants, workflows, chains and AI agents.

use convengine_storage::assistant::DocumentKind;
use utoipa_axum::routes;

use super::kind_routes::for_kind;
use super::runtime::{ai_agents, messages, public, simulator, transcript};
use super::{chains, deployment_tokens, deployments, desk, document, knowledge, secrets, tools};
use crate::api::routes::Routes;

/// Adds the routes with their required scopes.
pub fn add_all(routes: Routes) -> Routes {
    let of_documents = [DocumentKind::Assistant, DocumentKind::Workflow, DocumentKind::Chain, DocumentKind::Agent];
    let of_programs = [DocumentKind::Assistant, DocumentKind::Workflow, DocumentKind::Agent];
    let of_handoffs = [DocumentKind::Assistant, DocumentKind::Workflow];
    let routes = of_documents.into_iter().fold(routes, document::add_all);
    let routes = of_programs.into_iter().fold(routes, |routes, kind| {
        let routes = routes.add_admin(for_kind(kind, routes!(deployments::create)));
        simulator::add_all(knowledge::add_all(routes, kind), kind)
    });
    let routes = of_handoffs.into_iter().fold(routes, simulator::add_participants);
    chains::add_all(routes)
        .add_admin(routes!(deployment_tokens::list))
        .add_admin(routes!(deployment_tokens::rotate))
        .add_admin(routes!(deployment_tokens::revoke))
        .add_admin(routes!(tools::put))
        .add_admin(routes!(tools::read))
        .add_admin(routes!(tools::delete))
        .add_admin(routes!(secrets::put))
        .add_admin(routes!(secrets::list))
        .add_admin(routes!(secrets::delete))
        .add_admin(for_kind(DocumentKind::Agent, routes!(ai_agents::simulator::turn)))
        .add_desk(routes!(desk::list::conversations))
        .add_desk(routes!(desk::list::conversation))
        .add_desk(routes!(desk::events::events))
        .add_desk(routes!(desk::actions::take))
        .add_desk(routes!(desk::actions::write))
        .add_desk(routes!(desk::actions::give_back))
        .add_desk(routes!(desk::actions::close))
        .add_deployment(routes!(public::start))
        .add_deployment(routes!(public::turn))
        .add_deployment(routes!(transcript::of_deployment))
        .add_deployment(routes!(messages::of_deployment))
        .add_deployment_link(routes!(ai_agents::public::turn))
        .add_deployment_link(routes!(ai_agents::public::messages))
        .add_deployment_link(routes!(ai_agents::public::session))
}
