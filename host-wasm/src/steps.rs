//! The steps of an observed turn, with the session before and after each.

use convengine_core::turn::SessionView;

use crate::types::{Step, StepSessions};

/// A step: the session at its beginning, and at its end if it has finished.
struct ViewPair<'v> {
    before: &'v SessionView,
    after: Option<&'v SessionView>,
}

/// Returns all steps in start order.
pub fn list(views: &[SessionView]) -> Vec<Step<'_>> {
    let steps = pair_views(views).into_iter().map(|ViewPair { before, after }| {
        let changed = after.is_some_and(|after| after.session != before.session);
        Step { step: &before.step, seq: before.seq, finished: after.is_some(), changed }
    });
    steps.collect()
}

/// Returns the session before and after a step.
pub fn session_around(views: &[SessionView], index: usize) -> Option<StepSessions<'_>> {
    let ViewPair { before, after } = pair_views(views).into_iter().nth(index)?;
    Some(StepSessions { before: &before.session, after: after.map(|it| &it.session) })
}

fn pair_views(views: &[SessionView]) -> Vec<ViewPair<'_>> {
    let mut steps: Vec<ViewPair<'_>> = Vec::new();
    for view in views {
        if view.edge == "before" {
            steps.push(ViewPair { before: view, after: None });
        } else if let Some(open) = steps.iter_mut().rev().find(|step| step.after.is_none() && step.before.step == view.step) {
            open.after = Some(view);
        }
    }
    steps
}
