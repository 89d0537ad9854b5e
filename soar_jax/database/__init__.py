"""Tables that stay in their database: profiled, grouped, predicted and watched by the engine, through Ibis."""
