// The words of the components of @turnwire/react, in the language of the page.
import type { Words as ComponentWords } from "@turnwire/react";
import type { Words } from "./en";

export function componentWords(words: Words): Partial<ComponentWords> {
  return {
    message: words.message,
    send: words.send,
    sendLater: words.sendLater,
    addToTurn: words.addToTurn,
    stop: words.stop,
    stopping: words.stopping,
    attach: words.attachFiles,
    remove: words.removePicture,
    notTaken: (name, isPicture) => (isPicture ? words.noPictures : words.fileNotTaken(name)),
    allow: words.allow,
    deny: words.deny,
    alwaysAllow: () => words.always,
    allowAll: words.allRequests.allow,
    denyAll: words.allRequests.deny,
    closeForm: words.allRequests.closeForm,
    denyWithReason: words.denyWhy,
    edit: words.edit,
    whatRuns: words.edit,
    whyNot: words.whyNot,
    runsNothing: words.emptyCommand,
    notJson: words.notJson,
    allowThis: words.allowChanged,
    back: words.back,
    answer: words.answer,
    skip: words.skip,
    answerMissing: words.answerNeeded,
  };
}
