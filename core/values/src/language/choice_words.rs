//! Words with which people choose among options, by language. They are folded; alternatives are separated by `|`.

/// The words of a language.
pub(crate) struct ChoiceWords {
    code: &'static str,
    /// Phrases around a choice that mean nothing of their own: `I'll take the`, `please`.
    pub fillers: &'static str,
    /// Phrases for the last option.
    pub last: &'static str,
    /// Words with which nothing is chosen.
    pub negations: &'static str,
}

const ALL: [ChoiceWords; 8] = [
    ChoiceWords {
        code: "en",
        fillers: "a|an|the|my|your|our|me|you|it|i|we|to|of|for|and|or|in|on|at|by|with|is|are|be|do|this|that|please|now|one|ones|option|number|\
                  no|nr|action|choice|thanks|thank|i ll|i d|ll|d|take|want|like|choose|pick|go|have|would|give|let|s|ok|okay|yes|would like",
        last: "last|the last one|last one|final|latter|the latter",
        negations: "not|no|don|dont|never|without|except|neither|none|nor|nothing",
    },
    ChoiceWords {
        code: "de",
        fillers: "ein|eine|einen|der|die|das|den|dem|mein|meine|ich|wir|mir|uns|es|und|oder|in|an|auf|mit|ist|bitte|jetzt|option|nummer|nr|wahl|\
                  danke|nehme|nehm|will|mochte|hatte|gern|gerne|wahle|dann|gib|lieber|ja|ok",
        last: "letzte|letzter|letztes|letzten|letzteres|letztere|letzterer|letzteren|das letzte|die letzte|den letzten|der letzte",
        negations: "nicht|kein|keine|keinen|keins|nie|ohne|weder|nichts|ausser",
    },
    ChoiceWords {
        code: "es",
        fillers: "un|una|el|la|los|las|lo|mi|me|yo|de|del|a|al|y|o|en|con|es|por|favor|ahora|opcion|numero|num|gracias|quiero|quisiera|prefiero|\
                  elijo|tomo|dame|pues|si|vale|gustaria",
        last: "ultimo|ultima|el ultimo|la ultima|este ultimo|esta ultima",
        negations: "no|nunca|ni|sin|ninguno|ninguna|nada|excepto|salvo|tampoco",
    },
    ChoiceWords {
        code: "fr",
        fillers: "un|une|le|la|les|l|mon|ma|mes|je|j|moi|me|de|du|des|d|a|au|et|ou|en|dans|avec|est|c|s|il|vous|plait|te|maintenant|option|numero|n|\
                  merci|prends|veux|voudrais|prefere|choisis|choix|donnez|alors|oui|ok|ai|vais|prendre",
        last: "dernier|derniere|le dernier|la derniere|ce dernier|cette derniere",
        negations: "pas|non|jamais|ni|sans|aucun|aucune|rien|sauf|plus",
    },
    ChoiceWords {
        code: "it",
        fillers: "un|una|uno|il|lo|la|i|gli|le|l|mio|mia|io|mi|di|del|della|d|a|al|e|o|in|con|per|favore|ora|opzione|numero|n|grazie|prendo|voglio|\
                  vorrei|preferisco|scelgo|scelta|dammi|allora|si|ok|quello|quella",
        last: "ultimo|ultima|l ultimo|l ultima",
        negations: "non|no|mai|ne|senza|nessuno|nessuna|niente|tranne|neanche",
    },
    ChoiceWords {
        code: "pt",
        fillers: "um|uma|o|a|os|as|meu|minha|eu|me|de|do|da|ao|e|ou|em|no|na|com|por|favor|agora|opcao|numero|n|obrigado|obrigada|quero|queria|\
                  gostaria|prefiro|escolho|fico|entao|sim|ok|pode|ser",
        last: "ultimo|ultima|o ultimo|a ultima",
        negations: "nao|nunca|nem|sem|nenhum|nenhuma|nada|exceto|menos|tampouco",
    },
    ChoiceWords {
        code: "nl",
        fillers: "een|de|het|mijn|ik|we|me|mij|van|en|of|in|op|met|is|alsjeblieft|alstublieft|aub|nu|optie|nummer|nr|keuze|dank|bedankt|neem|wil|\
                  graag|kies|liever|doe|maar|dan|ja|ok|zou|die|dat",
        last: "laatste|de laatste|het laatste",
        negations: "niet|geen|nooit|zonder|noch|niets|behalve|nee",
    },
    ChoiceWords {
        code: "hi",
        fillers: "मैं|मुझे|मेरा|मेरी|हमें|यह|वह|वो|का|की|के|को|में|से|और|या|पर|ही|तो|कृपया|अब|विकल्प|विकलप|नंबर|नमबर|धन्यवाद|चाहिए|दीजिए|दे|दो|लूंगा|लूंगी|चुनता|चुनती|हूं|हूँ|है|वाला|वाली|हाँ|हां",
        last: "आखिरी|अंतिम|आखरी",
        negations: "नहीं|नही|मत|न|बिना|कोई|कुछ",
    },
];

/// The words of a language; those of English for one that is not known.
pub(crate) fn choice_words(code: &str) -> &'static ChoiceWords {
    let [english, ..] = &ALL;
    ALL.iter().find(|it| it.code == code).unwrap_or(english)
}
