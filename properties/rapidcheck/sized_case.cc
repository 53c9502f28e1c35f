#include "properties/rapidcheck/sized_case.h"

#include "properties/choices.h"

namespace mlafuzz {

rc::Gen<Case> SizedCase(const GeneratorOptions& options) {
  return [options](const rc::Random& random, int size) {
    rc::Random words = random;
    Choices choices(words.next(), size);
    return rc::shrinkable::just(GenerateCase(choices, options));
  };
}

}  // namespace mlafuzz
