//! French.

use super::EngineTexts;
use super::{Language, LocaleWords, NumberWords};

pub(super) static LANGUAGE: Language = Language {
    code: "fr",
    words: LocaleWords {
        and: "et",
        article: "un,une",
        half: "demi,demie",
        determiners: "un,une,le,la,les,l,mon,ma,mes,ton,ta,tes,son,sa,ses,notre,nos,votre,vos,leur,leurs,ce,cet,cette,ces",
        contractions: "de,du,des,d|a,au,aux",
        months: "janvier|fevrier|mars|avril|mai|juin|juillet|aout|septembre|octobre|novembre|decembre",
        weekdays: "lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche",
        days: "aujourd hui|demain|hier|apres demain",
        before_other_day: "avant",
        after_past_day: "dernier",
        before_month: "",
        before_offset: "dans",
        after_offset: "",
        units: "ans,an,annees,annee|mois|semaines,semaine|jours,jour,j|heures,heure,h|minutes,minute,min,mn,m|secondes,seconde,sec,s",
        yes: "oui,ouais,ouaip,ok,okay,daccord,d accord,bien sur,certainement,exact,exactement,volontiers,tout a fait,absolument,vrai,\
              pourquoi pas,pas de probleme,pas de souci",
        no: "non,nan,jamais,pas du tout,pas question,faux,bien sur que non,absolument pas,certainement pas,pas vraiment",
        not: "pas",
        unsure: "sais pas,pas sur,pas sure,peut etre,aucune idee",
        whole_text_only: ["1,o", "0,n"],
        numbers: Some(NumberWords {
            ones: "zero|un,une|deux|trois|quatre|cinq|six|sept|huit|neuf|dix|onze|douze|treize|quatorze|quinze|seize|dix sept|dix huit|dix neuf",
            tens: "vingt|trente|quarante|cinquante|soixante|septante|quatre vingt,quatre vingts,huitante,octante|nonante",
            tens_before_teens: "soixante,quatre vingt,quatre vingts",
            scales: &[("cent,cents", 2), ("mille", 3), ("million,millions", 6)],
            and_after_ten: "et",
            point: "virgule",
            minus: "moins",
            percent: "pour cent,pourcent",
            is_one_implied: true,
            ..NumberWords::NONE
        }),
    },
    texts: Some(EngineTexts {
        confirm_value: "Est-ce bien {value}\u{202f}?",
        yes: "Oui",
        no: "Non",
        ask_for_value: "{name}\u{202f}?",
        choose_value: "Que voulez-vous dire\u{a0}: {values}\u{202f}?",
        choose_intent: "Voulez-vous dire «\u{a0}{first}\u{a0}» ou «\u{a0}{second}\u{a0}»\u{202f}?",
        not_understood: "Excusez-moi, je n’ai pas compris.",
        error: "Une erreur s’est produite. Veuillez réessayer.",
    }),
};
