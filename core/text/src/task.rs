//! Task names: a bean and its methods.

/// A bean and its methods, as named by pending actions and rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskName {
    /// The name of the bean.
    pub bean: String,
    /// The methods, in call order.
    pub methods: Vec<String>,
}

impl TaskName {
    /// Parses `bean:method,method`; without a colon, the word is both bean and method. `None` when a part is blank.
    pub fn parse(text: &str) -> Option<TaskName> {
        let (bean, methods) = text.split_once(':').unwrap_or((text, text));
        let methods: Vec<String> = methods.split(',').map(|method| method.trim().to_owned()).filter(|it| !it.is_empty()).collect();
        let bean = bean.trim().to_owned();
        (!bean.is_empty() && !methods.is_empty()).then_some(TaskName { bean, methods })
    }
}

#[cfg(test)]
mod tests {
    use super::TaskName;

    #[test]
    fn a_task_is_a_bean_with_methods() {
        let read = |text: &str| TaskName::parse(text).map(|task| (task.bean, task.methods.join("|")));
        assert_eq!(read("card: issue , notify"), Some(("card".to_owned(), "issue|notify".to_owned())));
        assert_eq!(read("card"), Some(("card".to_owned(), "card".to_owned())));
        assert_eq!((read(":issue"), read("card:"), read(" ")), (None, None, None));
    }
}
