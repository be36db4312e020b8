"""The admission webhook: what comes in by kubectl or an SDK meets the validator of forms and REST before it is stored."""
