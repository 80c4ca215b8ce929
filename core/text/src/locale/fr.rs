//! French.

use super::EngineTexts;
use super::{Language, LocaleWords};

pub(super) static LANGUAGE: Language = Language {
    code: "fr",
    weekdays: [
        ["lundi", "lun."],
        ["mardi", "mar."],
        ["mercredi", "mer."],
        ["jeudi", "jeu."],
        ["vendredi", "ven."],
        ["samedi", "sam."],
        ["dimanche", "dim."],
    ],
    words: LocaleWords {
        and: "et",
        determiners: "un,une,le,la,les,l,mon,ma,mes,ton,ta,tes,son,sa,ses,notre,nos,votre,vos,leur,leurs,ce,cet,cette,ces",
        contractions: "de,du,des,d|a,au,aux",
        questions: "quel,quelle,quels,quelles,qui,que,qu,quoi,quand,ou,comment,combien,est,sont,voulez,veux,souhaitez,souhaites,pouvez,vous,tu,je,j,\
            nous,me,moi,dites,indiquez,donnez,entrez,choisissez,s,il,plait",
        free_words: "question,questions,probleme,problemes,message,messages,demande,aide,aider,commentaire,commentaires,decrivez,decrire,description,details,sujet,objet,note,texte,passe,idee,idees,avis,opinion,raison,motif,reclamation,remarque,recherche,souhait,contenu",
    },
    texts: Some(EngineTexts {
        confirm_value: "Est-ce bien {value}\u{202f}?",
        yes: "Oui",
        no: "Non",
        ask_for_value: "{name}\u{202f}?",
        choose_value: "Que voulez-vous dire\u{a0}: {values}\u{202f}?",
        choose_intent: "Voulez-vous dire «\u{a0}{first}\u{a0}» ou «\u{a0}{second}\u{a0}»\u{202f}?",
        not_understood: "Excusez-moi, je n’ai pas compris.",
        cancelled: "D’accord, j’ai tout arrêté.",
        nothing_to_cancel: "Il n’y a rien à annuler pour le moment.",
        answer_needed: "Il me faut une réponse pour continuer.",
        reason_for_question: "J’en ai besoin pour « {name} ».",
        first_question: "C’est la première question.",
        cannot_change: "Cela ne peut plus être modifié.",
        corrected: "D’accord : {value}.",
        started_over: "D’accord, recommençons.",
        no_person: "Désolé, personne ne peut prendre le relais ici.",
        returned: "Revenons à « {name} ».",
        can_help_with: "Je peux vous aider pour : {names}.",
        not_understood_again: "Je ne comprends toujours pas. Dites-le autrement, s’il vous plaît.",
        given_up: "Désolé, je ne peux pas vous aider pour cela.",
        left_alone: "D’accord, je ne le fais pas.",
        error: "Une erreur s’est produite. Veuillez réessayer.",
    }),
};
