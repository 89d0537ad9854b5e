"""The model: priors, the collapsed log joint, and a pair of rule sets on the device."""
